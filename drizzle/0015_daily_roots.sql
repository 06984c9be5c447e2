CREATE TABLE "coin_entries" (
	"kind" text NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"checkpoint" bigint NOT NULL,
	"number" bigint NOT NULL,
	CONSTRAINT "coin_entries_kind_coin_type_checkpoint_number_pk" PRIMARY KEY("kind","coin_type","checkpoint","number")
);
--> statement-breakpoint
CREATE TABLE "daily_roots" (
	"coin_type" text collate "C" PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"checkpoint" bigint,
	"fault" text
);
--> statement-breakpoint
CREATE TABLE "daily_round" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"day" date NOT NULL,
	"checkpoint" bigint NOT NULL,
	"ended_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "daily_round_one_row" CHECK ("daily_round"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "log_sequence" (
	"number" bigint PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"body" text NOT NULL,
	"at" text NOT NULL,
	"previous" text NOT NULL,
	"hash" text NOT NULL,
	"key_id" text NOT NULL,
	"signature" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_sequence_head" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"next" bigint NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "log_sequence_head_one_row" CHECK ("log_sequence_head"."id" = 1)
);
--> statement-breakpoint
ALTER TABLE "log_sequence" ADD CONSTRAINT "log_sequence_key_id_deployment_keys_key_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."deployment_keys"("key_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
-- What was signed is written once and never changed.
CREATE TRIGGER log_sequence_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_sequence"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER coin_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "coin_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
