CREATE TABLE "evm_chain_notes" (
	"chain_id" bigint PRIMARY KEY NOT NULL,
	"gave_up" boolean NOT NULL,
	"trouble" text,
	"endpoints" jsonb NOT NULL,
	"doubts" jsonb NOT NULL,
	"written_at" timestamp with time zone NOT NULL
);
