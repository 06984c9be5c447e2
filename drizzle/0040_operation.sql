CREATE TABLE "pauses" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pauses_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"reason" text,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"by" text NOT NULL,
	"ended_at" timestamp with time zone,
	"ended_by" text,
	CONSTRAINT "pauses_kind" CHECK ("pauses"."kind" in ('pipeline', 'asset', 'receiver'))
);
--> statement-breakpoint
CREATE TABLE "status_history" (
	"at" timestamp with time zone PRIMARY KEY NOT NULL,
	"next" bigint,
	"lag_seconds" jsonb NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "pauses_active" ON "pauses" USING btree ("kind","name") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "pauses_ended" ON "pauses" USING btree ("ended_at") WHERE ended_at is not null;