CREATE TABLE "log_checkpoints" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" text NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"facts" integer NOT NULL,
	"bytes" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_coins" (
	"coin_type" text PRIMARY KEY NOT NULL,
	"folded" text NOT NULL,
	"is_security" boolean DEFAULT false NOT NULL,
	"decimals" smallint,
	"decimals_source" text
);
--> statement-breakpoint
CREATE TABLE "log_facts" (
	"checkpoint" bigint NOT NULL,
	"transaction" integer NOT NULL,
	"kind" smallint NOT NULL,
	"index" integer NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"coin_type" text,
	"tx_digest" text NOT NULL,
	"sender" text NOT NULL,
	"object_id" text,
	"version" numeric(20, 0),
	"contents" "bytea",
	CONSTRAINT "log_facts_checkpoint_transaction_kind_index_pk" PRIMARY KEY("checkpoint","transaction","kind","index")
);
--> statement-breakpoint
CREATE TABLE "log_high_water" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"chain_id" text,
	"packages" text[] NOT NULL,
	"first_checkpoint" bigint NOT NULL,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_high_water_one_row" CHECK ("log_high_water"."id" = 1)
);
--> statement-breakpoint
CREATE INDEX "log_coins_folded" ON "log_coins" USING btree ("folded") WHERE "log_coins"."is_security";--> statement-breakpoint
-- Facts are written once and never changed: the database itself refuses anything else.
-- An operator who starts over drops the database.
CREATE FUNCTION log_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER log_facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_facts"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_checkpoints"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
