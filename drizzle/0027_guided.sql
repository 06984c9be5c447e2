CREATE TABLE "log_found" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"excerpt" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_guided" (
	"first_checkpoint" bigint PRIMARY KEY NOT NULL,
	"last_checkpoint" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_summaries" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" text NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"epoch" bigint NOT NULL,
	"summary" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"signers" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "completeness" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "completeness_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"coin_type" text collate "C",
	"through" bigint NOT NULL,
	"certificate" jsonb NOT NULL,
	"incomplete" jsonb NOT NULL,
	"signature" text,
	"key_id" text,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "completeness_signed" CHECK (("completeness"."signature" is null) = ("completeness"."key_id" is null))
);
--> statement-breakpoint
CREATE INDEX "log_summaries_in_time" ON "log_summaries" USING btree ("timestamp_ms","checkpoint");--> statement-breakpoint
CREATE INDEX "completeness_of_coin" ON "completeness" USING btree ("coin_type","id");--> statement-breakpoint
-- What was read, found and proven is written once and never changed.
CREATE TRIGGER log_guided_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_guided"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();--> statement-breakpoint
CREATE TRIGGER log_summaries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_summaries"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();--> statement-breakpoint
CREATE TRIGGER completeness_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "completeness"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
