CREATE TABLE "log_archived" (
	"number" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "log_archived_number_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"event" text NOT NULL,
	"first_checkpoint" bigint NOT NULL,
	"before_checkpoint" bigint NOT NULL,
	"facts" bigint NOT NULL,
	"hash" "bytea" NOT NULL,
	"root" text NOT NULL
);
--> statement-breakpoint
-- What was archived and attached again is written once and never changed.
CREATE TRIGGER log_archived_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_archived"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
-- The first checkpoint whose facts are here; null when none are archived.
CREATE FUNCTION log_archived_before() RETURNS bigint
  LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
  SELECT max(before_checkpoint) FROM public.log_archived a
  WHERE event = 'archived' AND NOT EXISTS (
    SELECT FROM public.log_archived l WHERE l.first_checkpoint = a.first_checkpoint AND l.number > a.number)
$$;
--> statement-breakpoint
-- True, or an error when facts from this checkpoint on are archived: for the condition of statements that read facts,
-- which Postgres evaluates once, before the first row.
CREATE FUNCTION log_has(from_checkpoint bigint) RETURNS boolean
  LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  border bigint := public.log_archived_before();
BEGIN
  IF from_checkpoint < border THEN
    RAISE EXCEPTION 'the facts before checkpoint % are archived, and those from checkpoint % on are needed; `holderbook archive attach --dir FOLDER` brings them back from the folder of the archive',
      border, from_checkpoint USING ERRCODE = 'HB003';
  END IF;
  RETURN true;
END
$$;
