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
CREATE TABLE "holder_lifecycle_watermark" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"chain_id" text,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "role_changes_watermark" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"chain_id" text,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "shared_token_objects_watermark" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"chain_id" text,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "timelock_objects_watermark" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"chain_id" text,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_activity_watermark" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"chain_id" text,
	"next_checkpoint" bigint NOT NULL,
	"last_checkpoint" bigint,
	"last_digest" text,
	"last_timestamp_ms" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "balances" (
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"token_balance" numeric(39, 0) DEFAULT 0 NOT NULL,
	"token_count" integer DEFAULT 0 NOT NULL,
	"grant_balance" numeric(39, 0) DEFAULT 0 NOT NULL,
	"grant_count" integer DEFAULT 0 NOT NULL,
	"total" numeric(39, 0) GENERATED ALWAYS AS (token_balance + grant_balance) STORED NOT NULL,
	CONSTRAINT "balances_coin_type_owner_pk" PRIMARY KEY("coin_type","owner")
);
--> statement-breakpoint
CREATE TABLE "holder_events" (
	"coin_type" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"event_type" text collate "C" NOT NULL,
	"tx_digest" text collate "C" NOT NULL,
	"holder_id" numeric(20, 0),
	"address" text collate "C",
	"group_id" numeric(20, 0),
	"is_frozen" boolean,
	"timestamp_ms" bigint NOT NULL,
	"reached_ms" bigint NOT NULL,
	CONSTRAINT "holder_events_coin_type_position_pk" PRIMARY KEY("coin_type","position")
);
--> statement-breakpoint
CREATE TABLE "shared_token_objects" (
	"object_id" text collate "C" PRIMARY KEY NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"balance" numeric(20, 0) NOT NULL,
	"version" numeric(20, 0) NOT NULL,
	"checkpoint" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "timelock_objects" (
	"object_id" text collate "C" PRIMARY KEY NOT NULL,
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"funder" text collate "C" NOT NULL,
	"release_schedule_id" numeric(20, 0) NOT NULL,
	"release_count" numeric(20, 0) NOT NULL,
	"delay_until_first_release_ms" numeric(20, 0) NOT NULL,
	"period_between_releases_ms" numeric(20, 0) NOT NULL,
	"initial_release_portion_bps" numeric(20, 0) NOT NULL,
	"commencement_timestamp_ms" numeric(20, 0) NOT NULL,
	"total_amount" numeric(20, 0) NOT NULL,
	"tokens_transferred" numeric(20, 0) NOT NULL,
	"left_balance" numeric(20, 0) NOT NULL,
	"version" numeric(20, 0) NOT NULL,
	"checkpoint" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_activity" (
	"coin_type" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"activity_type" text collate "C" NOT NULL,
	"tx_digest" text collate "C" NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"amount" numeric(20, 0) NOT NULL,
	"from_address" text collate "C",
	"to_address" text collate "C",
	"signer" text collate "C" NOT NULL,
	"token_object_id" text collate "C" NOT NULL,
	CONSTRAINT "token_activity_coin_type_position_pk" PRIMARY KEY("coin_type","position")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"subject" text,
	"secret_sha256" "bytea" NOT NULL,
	"label" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_keys_secret_sha256_unique" UNIQUE("secret_sha256"),
	CONSTRAINT "api_keys_subject" CHECK (("api_keys"."kind" = 'project') = ("api_keys"."subject" is not null))
);
--> statement-breakpoint
CREATE INDEX "log_coins_folded" ON "log_coins" USING btree ("folded") WHERE "log_coins"."is_security";--> statement-breakpoint
CREATE INDEX "balances_by_total" ON "balances" USING btree ("coin_type",(- total),"owner") WHERE total > 0;--> statement-breakpoint
CREATE INDEX "balances_by_tokens" ON "balances" USING btree ("coin_type",(- token_balance),"owner") WHERE token_balance > 0;--> statement-breakpoint
CREATE INDEX "balances_emptied" ON "balances" USING btree ("coin_type") WHERE token_count = 0 and grant_count = 0;--> statement-breakpoint
CREATE INDEX "holder_events_in_time" ON "holder_events" USING btree ("coin_type","reached_ms","position");--> statement-breakpoint
CREATE INDEX "shared_token_objects_of_owner" ON "shared_token_objects" USING btree ("coin_type","owner","object_id");--> statement-breakpoint
CREATE INDEX "timelock_objects_of_coin" ON "timelock_objects" USING btree ("coin_type","commencement_timestamp_ms","object_id");--> statement-breakpoint
CREATE INDEX "timelock_objects_of_owner" ON "timelock_objects" USING btree ("coin_type","owner","commencement_timestamp_ms","object_id");--> statement-breakpoint
CREATE INDEX "api_keys_created" ON "api_keys" USING btree ("created_at","id");--> statement-breakpoint
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
