-- Each filter of a list has an index. `migrate` builds them before its transaction, while other processes go on
-- writing.
CREATE INDEX IF NOT EXISTS "grant_changes_of_cause" ON "grant_changes" USING btree (hashtextextended(cause, hashtextextended(coin_type, 0::int8)),"position","owner");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "grant_changes_of_owner_cause" ON "grant_changes" USING btree (hashtextextended(cause, hashtextextended(owner, hashtextextended(coin_type, 0::int8))),"position");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_changes_of_cause" ON "token_changes" USING btree (hashtextextended(cause, hashtextextended(coin_type, 0::int8)),"position","owner");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_changes_of_owner_cause" ON "token_changes" USING btree (hashtextextended(cause, hashtextextended(owner, hashtextextended(coin_type, 0::int8))),"position");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "holder_events_of_holder_type" ON "holder_events" USING btree ("coin_type","holder_id","event_type","position") WHERE holder_id is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "holder_events_of_address_type" ON "holder_events" USING btree ("coin_type","address","event_type","position") WHERE address is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "holder_events_of_type" ON "holder_events" USING btree ("coin_type","event_type","position");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "role_events_of_owner" ON "role_events" USING btree ("coin_type","owner","position");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_activity_of_type" ON "token_activity" USING btree (hashtextextended(activity_type, hashtextextended(coin_type, 0::int8)),"position");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_activity_from" ON "token_activity" USING btree (hashtextextended(activity_type, hashtextextended(from_address, hashtextextended(coin_type, 0::int8))),"position") WHERE from_address is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_activity_to" ON "token_activity" USING btree (hashtextextended(activity_type, hashtextextended(to_address, hashtextextended(coin_type, 0::int8))),"position") WHERE to_address is not null;--> statement-breakpoint
DROP INDEX IF EXISTS "holder_events_of_holder";
