CREATE TABLE "pruned_callbacks" (
	"marker" "bytea" PRIMARY KEY NOT NULL
);
