CREATE INDEX "grant_changes_by_position" ON "grant_changes" USING btree ("position");--> statement-breakpoint
CREATE INDEX "token_changes_by_position" ON "token_changes" USING btree ("position");--> statement-breakpoint
CREATE INDEX "holder_events_by_position" ON "holder_events" USING btree ("position");--> statement-breakpoint
CREATE INDEX "role_events_by_position" ON "role_events" USING btree ("position");--> statement-breakpoint
CREATE INDEX "token_activity_by_position" ON "token_activity" USING btree ("position");