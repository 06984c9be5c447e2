ALTER TABLE "deployment_keys" ALTER COLUMN "sealed_secret" DROP NOT NULL;--> statement-breakpoint
CREATE INDEX "log_sequence_keys" ON "log_sequence" USING btree ("number") WHERE kind = 'key';