CREATE TABLE "log_source" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"source" text NOT NULL,
	"reader" text NOT NULL,
	"reading" boolean NOT NULL,
	"gave_up" boolean NOT NULL,
	"answered_at" timestamp with time zone,
	"silent_ms" bigint NOT NULL,
	"error" text,
	"written_at" timestamp with time zone NOT NULL,
	CONSTRAINT "log_source_one_row" CHECK ("log_source"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "ta_pii_records" DROP CONSTRAINT "ta_pii_records_request_id_ta_requests_id_fk";
--> statement-breakpoint
ALTER TABLE "ta_request_history" DROP CONSTRAINT "ta_request_history_request_id_ta_requests_id_fk";
--> statement-breakpoint
ALTER TABLE "ta_requests" DROP CONSTRAINT "ta_requests_lane_id_ta_lanes_id_fk";
--> statement-breakpoint
DROP INDEX "ta_pii_records_of_key";--> statement-breakpoint
ALTER TABLE "callback_attempts" ADD COLUMN "url" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "require_bound" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "ta_pii_records_of_key" ON "ta_pii_records" USING btree ("key_id");--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_require_bound" CHECK (not "api_keys"."require_bound" or "api_keys"."kind" = 'ta');