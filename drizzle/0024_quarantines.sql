CREATE TABLE "quarantines" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "quarantines_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"pipeline" text NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"event" text NOT NULL,
	"checkpoint" bigint NOT NULL,
	"transaction" integer,
	"kind" text,
	"index" integer,
	"type" text,
	"tx_digest" text,
	"reason" text,
	"by" text
);
--> statement-breakpoint
CREATE INDEX "quarantines_of_coin" ON "quarantines" USING btree ("coin_type","pipeline","number");--> statement-breakpoint
-- What was held, retried, resolved and released is written once and never changed.
CREATE TRIGGER quarantines_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "quarantines"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
