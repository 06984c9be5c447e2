CREATE TABLE "callback_arrivals" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "callback_arrivals_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint" text NOT NULL,
	"lane" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "callback_attempts" (
	"message_id" text NOT NULL,
	"number" integer NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"status_code" smallint,
	"error" text,
	"duration_ms" integer NOT NULL,
	CONSTRAINT "callback_attempts_message_id_number_pk" PRIMARY KEY("message_id","number")
);
--> statement-breakpoint
CREATE TABLE "callback_endpoints" (
	"key" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"disabled_at" timestamp with time zone,
	"disabled_reason" text,
	"withdrawn_at" timestamp with time zone,
	"withdrawn_reason" text,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp with time zone,
	"last_error" text
);
--> statement-breakpoint
CREATE TABLE "callback_keys" (
	"key_id" text PRIMARY KEY NOT NULL,
	"public_key" text NOT NULL,
	"sealed_secret" "bytea" NOT NULL,
	"not_before" timestamp with time zone NOT NULL,
	"not_after" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "callback_lanes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "callback_lanes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint" text NOT NULL,
	"lane" text NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"wake_at" timestamp with time zone DEFAULT now() NOT NULL,
	"arrivals" bigint DEFAULT 1 NOT NULL,
	"token" uuid DEFAULT gen_random_uuid() NOT NULL,
	"wake" smallint DEFAULT 0 NOT NULL,
	"leased_until" timestamp with time zone,
	CONSTRAINT "callback_lanes_of_endpoint" UNIQUE("endpoint","lane")
);
--> statement-breakpoint
CREATE TABLE "callback_messages" (
	"id" text PRIMARY KEY NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "callback_messages_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"endpoint" text NOT NULL,
	"lane" text NOT NULL,
	"type" text NOT NULL,
	"reference" text,
	"key_id" text,
	"body" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"scheduled" smallint DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"delivered_at" timestamp with time zone,
	"given_up_at" timestamp with time zone,
	CONSTRAINT "callback_messages_status" CHECK ("callback_messages"."status" in ('pending', 'delivered', 'failed', 'disabled'))
);
--> statement-breakpoint
CREATE TABLE "evm_blocks" (
	"chain_id" bigint NOT NULL,
	"number" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	"parent_hash" "bytea" NOT NULL,
	"timestamp" bigint NOT NULL,
	CONSTRAINT "evm_blocks_chain_id_number_pk" PRIMARY KEY("chain_id","number")
);
--> statement-breakpoint
CREATE TABLE "evm_chains" (
	"chain_id" bigint PRIMARY KEY NOT NULL,
	"network" text NOT NULL,
	"step" bigint DEFAULT 0 NOT NULL,
	"final_block" bigint NOT NULL,
	"head_block" bigint,
	"head_hash" "bytea",
	"head_timestamp" bigint,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "evm_facts" (
	"chain_id" bigint NOT NULL,
	"token" "bytea" NOT NULL,
	"block" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"block_hash" "bytea" NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"tx_index" integer NOT NULL,
	"tx_from" "bytea" NOT NULL,
	"tx_to" "bytea",
	"tx_nonce" bigint NOT NULL,
	"tx_input" "bytea",
	"address" "bytea" NOT NULL,
	"topics" "bytea" NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "evm_facts_chain_id_token_block_log_index_pk" PRIMARY KEY("chain_id","token","block","log_index")
);
--> statement-breakpoint
CREATE TABLE "evm_rollbacks" (
	"chain_id" bigint NOT NULL,
	"step" bigint NOT NULL,
	"to_block" bigint NOT NULL,
	"below_final" boolean NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "evm_rollbacks_chain_id_step_pk" PRIMARY KEY("chain_id","step")
);
--> statement-breakpoint
CREATE TABLE "evm_schedules" (
	"chain_id" bigint NOT NULL,
	"token" "bytea" NOT NULL,
	"schedule_id" numeric(78, 0) NOT NULL,
	"block" bigint NOT NULL,
	"release_count" numeric(78, 0) NOT NULL,
	"delay_until_first_release_in_seconds" numeric(78, 0) NOT NULL,
	"initial_release_portion_in_bips" numeric(78, 0) NOT NULL,
	"period_between_releases_in_seconds" numeric(78, 0) NOT NULL,
	CONSTRAINT "evm_schedules_chain_id_token_schedule_id_pk" PRIMARY KEY("chain_id","token","schedule_id")
);
--> statement-breakpoint
CREATE TABLE "evm_tokens" (
	"chain_id" bigint NOT NULL,
	"address" "bytea" NOT NULL,
	"lockup" "bytea",
	"identity_registry" "bytea",
	"first_block" bigint NOT NULL,
	"next_block" bigint NOT NULL,
	"name" text,
	"symbol" text,
	"decimals" smallint,
	"total_supply" numeric(78, 0),
	"contract_version" text,
	"described_at" timestamp with time zone,
	CONSTRAINT "evm_tokens_chain_id_address_pk" PRIMARY KEY("chain_id","address")
);
--> statement-breakpoint
CREATE TABLE "log_checkpoints" (
	"checkpoint" bigint PRIMARY KEY NOT NULL,
	"digest" text NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"facts_total" bigint NOT NULL,
	"bytes_total" bigint NOT NULL
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
	"facts_total" bigint DEFAULT 0 NOT NULL,
	"bytes_total" bigint DEFAULT 0 NOT NULL,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_high_water_one_row" CHECK ("log_high_water"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "ta_answers" (
	"key_id" text NOT NULL,
	"marker" "bytea" NOT NULL,
	"body" "bytea" NOT NULL,
	"status_code" smallint NOT NULL,
	"answer" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ta_answers_key_id_marker_pk" PRIMARY KEY("key_id","marker")
);
--> statement-breakpoint
CREATE TABLE "ta_lanes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ta_lanes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"asset" text NOT NULL,
	"investor_id" text NOT NULL,
	"arrivals" bigint DEFAULT 1 NOT NULL,
	"wake_at" timestamp with time zone DEFAULT now(),
	"token" uuid,
	"leased_until" timestamp with time zone,
	"wake" smallint DEFAULT 0 NOT NULL,
	"waits_for" text,
	"waiting_since" timestamp with time zone,
	CONSTRAINT "ta_lanes_of_investor" UNIQUE("asset","investor_id")
);
--> statement-breakpoint
CREATE TABLE "ta_pii_accesses" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ta_pii_accesses_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"request_id" uuid NOT NULL,
	"action" text NOT NULL,
	"purpose" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ta_pii_records" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"asset" text NOT NULL,
	"investor_id" text NOT NULL,
	"key_id" text NOT NULL,
	"sealed_key" "bytea" NOT NULL,
	"sealed" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ta_request_history" (
	"request_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"status" text NOT NULL,
	"message" text NOT NULL,
	CONSTRAINT "ta_request_history_request_id_number_pk" PRIMARY KEY("request_id","number")
);
--> statement-breakpoint
CREATE TABLE "ta_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"lane_id" bigint NOT NULL,
	"sequence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "ta_requests_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"asset" text NOT NULL,
	"kind" text NOT NULL,
	"investor_id" text NOT NULL,
	"wallet" text NOT NULL,
	"verified_status" boolean,
	"status" text DEFAULT 'QUEUED' NOT NULL,
	"message" text NOT NULL,
	"reason" text,
	"signing_tries" smallint DEFAULT 0 NOT NULL,
	"awaited_place" bigint,
	"awaited_since" timestamp with time zone,
	"tx_id" text,
	"key_id" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ta_requests_kind" CHECK ("ta_requests"."kind" in ('whitelist', 'kyc')),
	CONSTRAINT "ta_requests_verified_status" CHECK (("ta_requests"."kind" = 'whitelist') = ("ta_requests"."verified_status" is not null)),
	CONSTRAINT "ta_requests_status" CHECK ("ta_requests"."status" in ('QUEUED', 'PENDING', 'SUCCESS', 'FAILED')),
	CONSTRAINT "ta_requests_reason" CHECK (("ta_requests"."status" = 'FAILED') = ("ta_requests"."reason" is not null))
);
--> statement-breakpoint
CREATE TABLE "ta_holders" (
	"asset" text NOT NULL,
	"investor_id" text NOT NULL,
	"holder_id" numeric(20, 0) NOT NULL,
	CONSTRAINT "ta_holders_asset_investor_id_pk" PRIMARY KEY("asset","investor_id"),
	CONSTRAINT "ta_holders_once" UNIQUE("asset","holder_id")
);
--> statement-breakpoint
CREATE TABLE "ta_purse_uses" (
	"purse" text PRIMARY KEY NOT NULL,
	"used_at" timestamp with time zone DEFAULT now() NOT NULL,
	"version" text,
	"refused_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "ta_purses" (
	"purse" text PRIMARY KEY NOT NULL,
	"request_id" uuid NOT NULL,
	"payer" text NOT NULL,
	"claimed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ta_purses_request_id_unique" UNIQUE("request_id")
);
--> statement-breakpoint
CREATE TABLE "ta_transactions" (
	"request_id" uuid PRIMARY KEY NOT NULL,
	"tx_id" text NOT NULL,
	"signed" "bytea" NOT NULL,
	"group_id" bigint NOT NULL,
	"purse" text NOT NULL,
	"nonce" bigint,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"refusal" text,
	"reminded_at" timestamp with time zone,
	CONSTRAINT "ta_transactions_tx_id_unique" UNIQUE("tx_id")
);
--> statement-breakpoint
CREATE TABLE "ta_wallet_claims" (
	"asset" text NOT NULL,
	"wallet" text NOT NULL,
	"request_id" uuid NOT NULL,
	"claimed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "ta_wallet_claims_asset_wallet_pk" PRIMARY KEY("asset","wallet"),
	CONSTRAINT "ta_wallet_claims_request_id_unique" UNIQUE("request_id")
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
CREATE TABLE "role_events" (
	"coin_type" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	"tx_digest" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"role" text collate "C" NOT NULL,
	"granted" boolean NOT NULL,
	"signer" text collate "C" NOT NULL,
	"timestamp_ms" bigint NOT NULL,
	"reached_ms" bigint NOT NULL,
	CONSTRAINT "role_events_coin_type_position_pk" PRIMARY KEY("coin_type","position")
);
--> statement-breakpoint
CREATE TABLE "wallet_roles" (
	"coin_type" text collate "C" NOT NULL,
	"owner" text collate "C" NOT NULL,
	"role" text collate "C" NOT NULL,
	"position" bigint NOT NULL,
	CONSTRAINT "wallet_roles_coin_type_owner_role_pk" PRIMARY KEY("coin_type","owner","role")
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
CREATE TABLE "transfer_event_groups" (
	"project" text collate "C" NOT NULL,
	"chain_id" bigint NOT NULL,
	"token" "bytea" NOT NULL,
	"wallet" "bytea" NOT NULL,
	"block" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"groups" text NOT NULL,
	CONSTRAINT "transfer_event_groups_project_chain_id_token_wallet_block_log_index_pk" PRIMARY KEY("project","chain_id","token","wallet","block","log_index")
);
--> statement-breakpoint
CREATE TABLE "transfer_event_progress" (
	"project" text collate "C" NOT NULL,
	"chain_id" bigint NOT NULL,
	"place" smallint NOT NULL,
	"settings" text DEFAULT '' NOT NULL,
	"first_block" bigint NOT NULL,
	"next_block" bigint NOT NULL,
	"step" bigint DEFAULT 0 NOT NULL,
	"notified_block" bigint DEFAULT -1 NOT NULL,
	"silent_block" bigint DEFAULT -1 NOT NULL,
	"committed_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "transfer_event_progress_project_chain_id_pk" PRIMARY KEY("project","chain_id"),
	CONSTRAINT "transfer_event_progress_project_place_unique" UNIQUE("project","place")
);
--> statement-breakpoint
CREATE TABLE "transfer_events" (
	"project" text collate "C" NOT NULL,
	"id" bigint NOT NULL,
	"chain_id" bigint NOT NULL,
	"block" bigint NOT NULL,
	"block_timestamp" bigint NOT NULL,
	"log_index" integer NOT NULL,
	"tx_hash" "bytea" NOT NULL,
	"token" "bytea" NOT NULL,
	"method_name" text collate "C" NOT NULL,
	"amount" numeric(78, 0) NOT NULL,
	"sender" "bytea" NOT NULL,
	"recipient" "bytea" NOT NULL,
	"sender_group" numeric(78, 0),
	"recipient_group" numeric(78, 0),
	"schedule_id" numeric(78, 0),
	"commencement_timestamp" numeric(78, 0),
	"release_count" numeric(78, 0),
	"delay_until_first_release_in_seconds" numeric(78, 0),
	"initial_release_portion_in_bips" numeric(78, 0),
	"period_between_releases_in_seconds" numeric(78, 0),
	CONSTRAINT "transfer_events_project_id_pk" PRIMARY KEY("project","id")
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"subject" text,
	"secret_sha256" "bytea" NOT NULL,
	"callback_url" text,
	"handed_to" text,
	"label" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"revoked_at" timestamp with time zone,
	CONSTRAINT "api_keys_secret_sha256_unique" UNIQUE("secret_sha256"),
	CONSTRAINT "api_keys_subject" CHECK (("api_keys"."kind" = 'graphql') = ("api_keys"."subject" is null)),
	CONSTRAINT "api_keys_callback_url" CHECK ("api_keys"."callback_url" is null or "api_keys"."kind" = 'ta'),
	CONSTRAINT "api_keys_handed_to" CHECK ("api_keys"."handed_to" is null or ("api_keys"."kind" = 'ta' and "api_keys"."revoked_at" is not null))
);
--> statement-breakpoint
ALTER TABLE "callback_messages" ADD CONSTRAINT "callback_messages_endpoint_callback_endpoints_key_fk" FOREIGN KEY ("endpoint") REFERENCES "public"."callback_endpoints"("key") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_pii_records" ADD CONSTRAINT "ta_pii_records_request_id_ta_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."ta_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_request_history" ADD CONSTRAINT "ta_request_history_request_id_ta_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."ta_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_requests" ADD CONSTRAINT "ta_requests_lane_id_ta_lanes_id_fk" FOREIGN KEY ("lane_id") REFERENCES "public"."ta_lanes"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_purses" ADD CONSTRAINT "ta_purses_request_id_ta_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."ta_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_transactions" ADD CONSTRAINT "ta_transactions_request_id_ta_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."ta_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ta_wallet_claims" ADD CONSTRAINT "ta_wallet_claims_request_id_ta_requests_id_fk" FOREIGN KEY ("request_id") REFERENCES "public"."ta_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "callback_lanes_wake" ON "callback_lanes" USING btree ("wake_at");--> statement-breakpoint
CREATE INDEX "callback_messages_pending" ON "callback_messages" USING btree ("endpoint","lane","sequence") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "callback_messages_oldest" ON "callback_messages" USING btree ("endpoint","created_at") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "callback_messages_of_endpoint" ON "callback_messages" USING btree ("endpoint","created_at","sequence");--> statement-breakpoint
CREATE INDEX "callback_messages_of_key" ON "callback_messages" USING btree ("key_id","created_at","sequence") WHERE key_id is not null;--> statement-breakpoint
CREATE INDEX "log_checkpoints_facts" ON "log_checkpoints" USING btree ("facts_total");--> statement-breakpoint
CREATE INDEX "log_checkpoints_bytes" ON "log_checkpoints" USING btree ("bytes_total");--> statement-breakpoint
CREATE INDEX "log_coins_folded" ON "log_coins" USING btree ("folded") WHERE "log_coins"."is_security";--> statement-breakpoint
CREATE INDEX "ta_answers_expiry" ON "ta_answers" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ta_lanes_wake" ON "ta_lanes" USING btree ("wake_at") WHERE wake_at is not null;--> statement-breakpoint
CREATE INDEX "ta_lanes_waiting" ON "ta_lanes" USING btree ("waits_for","waiting_since") WHERE waits_for is not null;--> statement-breakpoint
CREATE INDEX "ta_pii_accesses_of_request" ON "ta_pii_accesses" USING btree ("request_id","id");--> statement-breakpoint
CREATE INDEX "ta_pii_records_of_investor" ON "ta_pii_records" USING btree ("asset","investor_id");--> statement-breakpoint
CREATE INDEX "ta_pii_records_of_key" ON "ta_pii_records" USING btree ("key_id","request_id");--> statement-breakpoint
CREATE INDEX "ta_requests_open" ON "ta_requests" USING btree ("lane_id","sequence") WHERE status in ('QUEUED', 'PENDING');--> statement-breakpoint
CREATE INDEX "ta_requests_of_wallet" ON "ta_requests" USING btree ("asset","wallet","sequence");--> statement-breakpoint
CREATE INDEX "ta_requests_waiting" ON "ta_requests" USING btree ("asset","sequence") WHERE status in ('QUEUED', 'PENDING');--> statement-breakpoint
CREATE INDEX "ta_requests_ended" ON "ta_requests" USING btree ("status","updated_at") WHERE status in ('SUCCESS', 'FAILED');--> statement-breakpoint
CREATE INDEX "ta_transactions_nonces" ON "ta_transactions" USING btree ("purse","nonce") WHERE nonce is not null;--> statement-breakpoint
CREATE INDEX "balances_by_total" ON "balances" USING btree ("coin_type",(- total),"owner") WHERE total > 0;--> statement-breakpoint
CREATE INDEX "balances_by_tokens" ON "balances" USING btree ("coin_type",(- token_balance),"owner") WHERE token_balance > 0;--> statement-breakpoint
CREATE INDEX "holder_events_in_time" ON "holder_events" USING btree ("coin_type","reached_ms","position");--> statement-breakpoint
CREATE INDEX "holder_events_of_member" ON "holder_events" USING btree ("coin_type","address","position") WHERE holder_id is not null and address is not null;--> statement-breakpoint
CREATE INDEX "holder_events_of_holder" ON "holder_events" USING btree ("coin_type","holder_id") WHERE holder_id is not null;--> statement-breakpoint
CREATE INDEX "holder_events_of_group" ON "holder_events" USING btree ("coin_type","address","position") WHERE group_id is not null;--> statement-breakpoint
CREATE INDEX "role_events_in_time" ON "role_events" USING btree ("coin_type","reached_ms","position");--> statement-breakpoint
CREATE INDEX "shared_token_objects_of_owner" ON "shared_token_objects" USING btree ("coin_type","owner","object_id");--> statement-breakpoint
CREATE INDEX "timelock_objects_of_coin" ON "timelock_objects" USING btree ("coin_type","commencement_timestamp_ms","object_id");--> statement-breakpoint
CREATE INDEX "timelock_objects_of_owner" ON "timelock_objects" USING btree ("coin_type","owner","commencement_timestamp_ms","object_id");--> statement-breakpoint
CREATE INDEX "transfer_events_of_transaction" ON "transfer_events" USING btree ("project","tx_hash","id");--> statement-breakpoint
CREATE INDEX "transfer_events_of_recipient" ON "transfer_events" USING btree ("project","recipient","id");--> statement-breakpoint
CREATE INDEX "transfer_events_of_network" ON "transfer_events" USING btree ("project","chain_id","block","id");--> statement-breakpoint
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
