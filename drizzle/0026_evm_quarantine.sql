CREATE TABLE "transfer_event_holds" (
	"project" text collate "C" NOT NULL,
	"chain_id" bigint NOT NULL,
	"token" "bytea" NOT NULL,
	"block" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"reason" text NOT NULL,
	"since" timestamp with time zone DEFAULT now() NOT NULL,
	"next_block" bigint NOT NULL,
	"after_id" bigint NOT NULL,
	"retrying" boolean DEFAULT false NOT NULL,
	CONSTRAINT "transfer_event_holds_project_chain_id_token_pk" PRIMARY KEY("project","chain_id","token")
);
--> statement-breakpoint
CREATE TABLE "transfer_event_reserved_ids" (
	"project" text collate "C" NOT NULL,
	"chain_id" bigint NOT NULL,
	"block" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"token" "bytea" NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"id" bigint NOT NULL,
	CONSTRAINT "transfer_event_reserved_ids_project_chain_id_block_log_index_pk" PRIMARY KEY("project","chain_id","block","log_index")
);
--> statement-breakpoint
CREATE INDEX "transfer_event_reserved_ids_of_transaction" ON "transfer_event_reserved_ids" USING btree ("project","tx_hash");