CREATE TABLE "log_blocks" (
	"first_checkpoint" bigint PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"times" "bytea" NOT NULL,
	"digests" "bytea" NOT NULL,
	"reached_ms" bigint NOT NULL,
	"filled" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_packages" (
	"address" text PRIMARY KEY NOT NULL,
	"checkpoint" bigint NOT NULL,
	"transaction" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "grant_changes" (
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"cause" text collate "C" NOT NULL,
	"change" numeric(39, 0) NOT NULL,
	"balance_after" numeric(39, 0) NOT NULL,
	"tx_digest" text collate "C" NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	CONSTRAINT "grant_changes_coin_type_owner_position_pk" PRIMARY KEY("coin_type","owner","position")
);
--> statement-breakpoint
CREATE TABLE "token_changes" (
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"cause" text collate "C" NOT NULL,
	"change" numeric(39, 0) NOT NULL,
	"balance_after" numeric(39, 0) NOT NULL,
	"tx_digest" text collate "C" NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	CONSTRAINT "token_changes_coin_type_owner_position_pk" PRIMARY KEY("coin_type","owner","position")
);
--> statement-breakpoint
CREATE TABLE "shared_token_ranges" (
	"object_id" text collate "C" NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"balance" numeric(20, 0) NOT NULL,
	"version" numeric(20, 0) NOT NULL,
	"checkpoint" bigint NOT NULL,
	"until" bigint NOT NULL,
	CONSTRAINT "shared_token_ranges_object_id_checkpoint_pk" PRIMARY KEY("object_id","checkpoint")
);
--> statement-breakpoint
CREATE TABLE "timelock_ranges" (
	"object_id" text collate "C" NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"funder" text collate "C" NOT NULL,
	"release_schedule_id" numeric(20, 0) NOT NULL,
	"release_count" numeric(20, 0) NOT NULL,
	"delay_until_first_release_ms" numeric(20, 0) NOT NULL,
	"period_between_releases_ms" numeric(20, 0) NOT NULL,
	"initial_release_portion_bps" numeric(20, 0) NOT NULL,
	"commencement_timestamp_ms" numeric(20, 0) NOT NULL,
	"total_amount" numeric(20, 0) NOT NULL,
	"tokens_transferred" numeric(20, 0) NOT NULL,
	"left_balance" numeric(20, 0) NOT NULL,
	"version" numeric(20, 0) NOT NULL,
	"checkpoint" bigint NOT NULL,
	"until" bigint NOT NULL,
	CONSTRAINT "timelock_ranges_object_id_checkpoint_pk" PRIMARY KEY("object_id","checkpoint")
);
--> statement-breakpoint
CREATE TABLE "token_grants" (
	"object_id" text collate "C" PRIMARY KEY NOT NULL,
	"tokens_transferred" numeric(20, 0) NOT NULL,
	"left_balance" numeric(20, 0) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_supplies" (
	"coin_type" text collate "C" NOT NULL,
	"checkpoint" bigint NOT NULL,
	"supply" numeric(20, 0) NOT NULL,
	CONSTRAINT "token_supplies_coin_type_checkpoint_pk" PRIMARY KEY("coin_type","checkpoint")
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"coin_type" text collate "C" PRIMARY KEY NOT NULL,
	"first_checkpoint" bigint,
	"symbol" text collate "C",
	"name" text collate "C"
);
--> statement-breakpoint
ALTER TABLE "log_high_water" ADD COLUMN "reached_ms" bigint;--> statement-breakpoint
ALTER TABLE "holder_lifecycle_watermark" ADD COLUMN "layout" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "role_changes_watermark" ADD COLUMN "layout" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "shared_token_objects_watermark" ADD COLUMN "layout" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "timelock_objects_watermark" ADD COLUMN "layout" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "token_activity_watermark" ADD COLUMN "layout" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "log_blocks_in_time" ON "log_blocks" USING btree ("filled","reached_ms","first_checkpoint");--> statement-breakpoint
CREATE INDEX "grant_changes_in_order" ON "grant_changes" USING btree ("coin_type","position","owner");--> statement-breakpoint
CREATE INDEX "token_changes_in_order" ON "token_changes" USING btree ("coin_type","position","owner");--> statement-breakpoint
CREATE INDEX "shared_token_ranges_of_owner" ON "shared_token_ranges" USING btree ("coin_type","owner","object_id","until");--> statement-breakpoint
CREATE INDEX "timelock_ranges_of_coin" ON "timelock_ranges" USING btree ("coin_type","commencement_timestamp_ms","object_id","until");--> statement-breakpoint
CREATE INDEX "timelock_ranges_of_owner" ON "timelock_ranges" USING btree ("coin_type","owner","commencement_timestamp_ms","object_id","until");--> statement-breakpoint
CREATE INDEX "tokens_seen" ON "tokens" USING btree ("coin_type") WHERE first_checkpoint is not null;--> statement-breakpoint
CREATE INDEX "holder_events_of_freeze" ON "holder_events" USING btree ("coin_type","address","position") WHERE is_frozen is not null;--> statement-breakpoint
CREATE INDEX "role_events_of_role" ON "role_events" USING btree ("coin_type","owner","role","position");--> statement-breakpoint
-- As the facts: written once and never changed.
CREATE TRIGGER log_blocks_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_blocks"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
