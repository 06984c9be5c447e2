CREATE TABLE "operator_acts" (
	"number" bigint PRIMARY KEY NOT NULL,
	"at" text NOT NULL,
	"command" text NOT NULL,
	"details" text NOT NULL,
	"by" text NOT NULL,
	"scope" text NOT NULL,
	"coin_type" text collate "C",
	"salt" text NOT NULL,
	CONSTRAINT "operator_acts_scope" CHECK (("operator_acts"."scope" = 'coin') = ("operator_acts"."coin_type" is not null))
);
--> statement-breakpoint
CREATE INDEX "log_sequence_acts" ON "log_sequence" USING btree ("number") WHERE kind = 'act';--> statement-breakpoint
-- What operators did is written once and never changed.
CREATE TRIGGER operator_acts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "operator_acts"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
