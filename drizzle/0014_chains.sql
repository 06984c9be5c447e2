CREATE TABLE "log_block_chain" (
	"first_checkpoint" bigint PRIMARY KEY NOT NULL,
	"hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_coin_chain" (
	"coin_type" text collate "C" NOT NULL,
	"checkpoint" bigint NOT NULL,
	"facts" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	CONSTRAINT "log_coin_chain_coin_type_checkpoint_pk" PRIMARY KEY("coin_type","checkpoint")
);
--> statement-breakpoint
CREATE INDEX "log_coin_chain_checkpoint" ON "log_coin_chain" USING btree ("checkpoint");--> statement-breakpoint
-- As the chain of the facts: written once and never changed.
CREATE TRIGGER log_coin_chain_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_coin_chain"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_block_chain_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_block_chain"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
