CREATE INDEX IF NOT EXISTS "grant_changes_by_end" ON "grant_changes" USING btree (right(owner, 4),"owner") WHERE balance_after = change;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_changes_by_end" ON "token_changes" USING btree (right(owner, 4),"owner") WHERE balance_after = change;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "membership_ranges_by_end" ON "membership_ranges" USING btree (right(address, 4),"address");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "role_ranges_by_end" ON "role_ranges" USING btree (right(owner, 4),"owner");