-- What a transaction did, by its digest, and the coins of a wallet. `migrate` builds these before the transaction, while
-- other processes go on writing.

CREATE INDEX IF NOT EXISTS "grant_changes_of_transaction" ON "grant_changes" USING btree ("tx_digest") WHERE cause not in ('MINT', 'BURN', 'TRANSFER', 'FORCE_TRANSFER');--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "grant_changes_of_wallet" ON "grant_changes" USING btree ("owner","coin_type") WHERE balance_after = change;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_changes_of_transaction" ON "token_changes" USING btree ("tx_digest") WHERE cause not in ('MINT', 'BURN', 'TRANSFER', 'FORCE_TRANSFER');--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_changes_of_wallet" ON "token_changes" USING btree ("owner","coin_type") WHERE balance_after = change;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "holder_events_of_transaction" ON "holder_events" USING btree ("tx_digest");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "membership_ranges_of_wallet" ON "membership_ranges" USING btree ("address","coin_type");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "role_events_of_transaction" ON "role_events" USING btree ("tx_digest");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "role_ranges_of_wallet" ON "role_ranges" USING btree ("owner","coin_type");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "token_activity_of_transaction" ON "token_activity" USING btree ("tx_digest");
