CREATE TABLE "log_input_chain" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"inputs" integer NOT NULL,
	"hash" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_inputs" (
	"checkpoint" bigint NOT NULL,
	"transaction" integer NOT NULL,
	"index" integer NOT NULL,
	"version" numeric(20, 0),
	CONSTRAINT "log_inputs_checkpoint_transaction_index_pk" PRIMARY KEY("checkpoint","transaction","index")
);
--> statement-breakpoint
ALTER TABLE "log_high_water" ADD COLUMN "inputs_from" bigint;--> statement-breakpoint
-- As the facts: written once and never changed.
CREATE TRIGGER log_inputs_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_inputs"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_input_chain_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_input_chain"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
