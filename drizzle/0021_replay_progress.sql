CREATE TABLE "replays" (
	"pipeline" text PRIMARY KEY NOT NULL,
	"reason" text NOT NULL,
	"state" text NOT NULL,
	"begun_at" timestamp with time zone NOT NULL,
	"begun_checkpoint" bigint NOT NULL,
	"checkpoint" bigint NOT NULL,
	"target" bigint NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"compared_at" timestamp with time zone,
	"compared_checkpoint" bigint,
	"rows" integer,
	"differences" jsonb
);
