CREATE TABLE "deployment_keys" (
	"key_id" text PRIMARY KEY NOT NULL,
	"public_key" text NOT NULL,
	"sealed_secret" "bytea" NOT NULL,
	"made_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_check" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"next_checkpoint" bigint NOT NULL,
	"completed_at" timestamp with time zone,
	"completed_through" bigint,
	"fault" text,
	"fault_checkpoint" bigint,
	"found_at" timestamp with time zone,
	CONSTRAINT "log_check_one_row" CHECK ("log_check"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "published_roots" (
	"coin_type" text collate "C" NOT NULL,
	"checkpoint" bigint NOT NULL,
	"checkpoint_digest" text NOT NULL,
	"root" text NOT NULL,
	"total" text NOT NULL,
	"signature" text NOT NULL,
	"key_id" text NOT NULL,
	"signed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "published_roots_coin_type_checkpoint_pk" PRIMARY KEY("coin_type","checkpoint")
);
--> statement-breakpoint
CREATE TABLE "reconciliations" (
	"kind" text PRIMARY KEY NOT NULL,
	"checkpoint" bigint NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"findings" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_chain" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"facts" integer NOT NULL,
	"hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_committees" (
	"epoch" bigint PRIMARY KEY NOT NULL,
	"members" "bytea" NOT NULL,
	"named_by" bigint
);
--> statement-breakpoint
CREATE TABLE "log_heads" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"hash" "bytea" NOT NULL,
	"signature" text NOT NULL,
	"key_id" text NOT NULL,
	"signed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_proofs" (
	"first_checkpoint" bigint PRIMARY KEY NOT NULL,
	"last_checkpoint" bigint NOT NULL,
	"epoch" bigint NOT NULL,
	"summary" "bytea" NOT NULL,
	"signature" "bytea" NOT NULL,
	"signers" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "holder_lifecycle_digests" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "role_changes_digests" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "shared_token_objects_digests" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "timelock_objects_digests" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_activity_digests" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" "bytea" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "holder_lifecycle_watermark" ADD COLUMN "digest" "bytea";--> statement-breakpoint
ALTER TABLE "role_changes_watermark" ADD COLUMN "digest" "bytea";--> statement-breakpoint
ALTER TABLE "shared_token_objects_watermark" ADD COLUMN "digest" "bytea";--> statement-breakpoint
ALTER TABLE "timelock_objects_watermark" ADD COLUMN "digest" "bytea";--> statement-breakpoint
ALTER TABLE "token_activity_watermark" ADD COLUMN "digest" "bytea";--> statement-breakpoint
ALTER TABLE "published_roots" ADD CONSTRAINT "published_roots_key_id_deployment_keys_key_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."deployment_keys"("key_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
-- As the facts: written once and never changed.
CREATE TRIGGER log_chain_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_chain"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_heads_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_heads"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_committees_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_committees"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER deployment_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "deployment_keys"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER published_roots_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "published_roots"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
