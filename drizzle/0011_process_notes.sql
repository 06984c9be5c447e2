CREATE TABLE "process_notes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"pid" integer NOT NULL,
	"host" text NOT NULL,
	"said" jsonb NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"written_at" timestamp with time zone NOT NULL
);
