CREATE TABLE "backfill_ranges" (
	"first_checkpoint" bigint PRIMARY KEY NOT NULL,
	"last_checkpoint" bigint NOT NULL,
	"content" "bytea",
	"raw_bytes" bigint,
	"worker" text,
	"failures" integer DEFAULT 0 NOT NULL,
	"failure" text,
	"changed_at" timestamp with time zone
);
