ALTER TABLE "api_keys" DROP CONSTRAINT "api_keys_subject";--> statement-breakpoint
CREATE INDEX "callback_messages_newest" ON "callback_messages" USING btree ("created_at","sequence");--> statement-breakpoint
CREATE INDEX "callback_messages_given_up" ON "callback_messages" USING btree ("created_at","sequence") WHERE status in ('failed', 'disabled');--> statement-breakpoint
CREATE INDEX "callback_messages_given_up_at" ON "callback_messages" USING btree ("given_up_at") WHERE status in ('failed', 'disabled');--> statement-breakpoint
CREATE INDEX "ta_requests_newest" ON "ta_requests" USING btree ("created_at","sequence");--> statement-breakpoint
CREATE INDEX "ta_requests_failed" ON "ta_requests" USING btree ("created_at","sequence") WHERE status = 'FAILED';--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_subject" CHECK (("api_keys"."kind" in ('graphql', 'operator')) = ("api_keys"."subject" is null));