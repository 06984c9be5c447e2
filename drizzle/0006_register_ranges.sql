CREATE TABLE "membership_ranges" (
	"coin_type" text collate "C" NOT NULL,
	"address" text collate "C" NOT NULL,
	"aspect" text collate "C" NOT NULL,
	"value" numeric(20, 0) NOT NULL,
	"checkpoint" bigint NOT NULL,
	"until" bigint NOT NULL,
	CONSTRAINT "membership_ranges_coin_type_address_aspect_checkpoint_pk" PRIMARY KEY("coin_type","address","aspect","checkpoint")
);
--> statement-breakpoint
CREATE TABLE "role_ranges" (
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"role" text collate "C" NOT NULL,
	"checkpoint" bigint NOT NULL,
	"until" bigint NOT NULL,
	CONSTRAINT "role_ranges_coin_type_owner_role_checkpoint_pk" PRIMARY KEY("coin_type","owner","role","checkpoint")
);
--> statement-breakpoint
DROP INDEX "holder_events_of_freeze";--> statement-breakpoint
DROP INDEX "role_events_of_role";--> statement-breakpoint
ALTER TABLE "holder_lifecycle_watermark" ADD COLUMN "filled_checkpoint" bigint;--> statement-breakpoint
ALTER TABLE "role_changes_watermark" ADD COLUMN "filled_checkpoint" bigint;--> statement-breakpoint
ALTER TABLE "shared_token_objects_watermark" ADD COLUMN "filled_checkpoint" bigint;--> statement-breakpoint
ALTER TABLE "timelock_objects_watermark" ADD COLUMN "filled_checkpoint" bigint;--> statement-breakpoint
ALTER TABLE "token_activity_watermark" ADD COLUMN "filled_checkpoint" bigint;