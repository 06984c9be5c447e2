CREATE TABLE "root_counts" (
	"asked_by" text PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"roots" integer NOT NULL
);
