ALTER TABLE "published_roots" ADD COLUMN "correction" bigint DEFAULT -1 NOT NULL;--> statement-breakpoint
ALTER TABLE "published_roots" DROP CONSTRAINT "published_roots_coin_type_checkpoint_pk";--> statement-breakpoint
ALTER TABLE "published_roots" ADD CONSTRAINT "published_roots_coin_type_checkpoint_correction_pk" PRIMARY KEY("coin_type","checkpoint","correction");