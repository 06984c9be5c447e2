CREATE TABLE "log_source" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"source" text NOT NULL,
	"reader" text NOT NULL,
	"reading" boolean NOT NULL,
	"gave_up" boolean NOT NULL,
	"answered_at" timestamp with time zone,
	"silent_ms" bigint NOT NULL,
	"error" text,
	"written_at" timestamp with time zone NOT NULL,
	CONSTRAINT "log_source_one_row" CHECK ("log_source"."id" = 1)
);
