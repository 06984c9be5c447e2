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