-- The facts are partitioned by checkpoint, so that old ones can leave the database as a whole. There is no default
-- partition: with one, no partition could be detached concurrently, and each new one would have to scan it.

-- Creates the partitions of `facts` for these checkpoints and the one after, with keys, triggers and rights, as the
-- owner of the tables: the service appends, and may create nothing in public. Returns the checkpoint from which it has
-- to be called again.
--
-- Ten million checkpoints are a month of Sui: a register over years has tens of partitions, few to plan with, and
-- old facts leave by the month.
CREATE FUNCTION log_partitions(facts regclass, first_checkpoint bigint, last_checkpoint bigint) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  size CONSTANT bigint := 10000000;
  start bigint := first_checkpoint / size * size;
  home text;
  part text;
  statement text;
BEGIN
  SELECT nspname INTO home FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = facts AND relname = 'log_facts' AND relkind = 'p' AND pg_has_role(relowner, 'USAGE');
  IF home IS NULL THEN
    RAISE EXCEPTION '% is not the table of a log', facts USING ERRCODE = 'HB002';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('holderbook partitions'));
  WHILE start <= last_checkpoint + size LOOP
    IF NOT EXISTS (
      SELECT FROM (
        SELECT pg_get_expr(relpartbound, oid) AS bound FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = facts
      ) AS parts
      WHERE start >= coalesce(substring(bound FROM 'FROM \(''?(\d+)')::bigint, 0)
        AND start < substring(bound FROM 'TO \(''?(\d+)')::bigint
    ) THEN
      part := format('%I.log_facts_from_%s', home, start);
      -- Attached after: creating it as a partition would exclude all readers.
      EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING STORAGE)', part, facts);
      FOR statement IN
        SELECT replace(pg_get_triggerdef(oid), format(' ON %I.log_facts ', home), format(' ON %s ', part))
        FROM pg_trigger WHERE tgrelid = facts AND tgfoid = to_regproc('public.log_refuse_change')
        UNION ALL
        SELECT format('GRANT %s ON %s TO %s', string_agg(privilege_type, ', '), part, grantee::regrole)
        FROM pg_class, aclexplode(relacl) WHERE oid = facts AND grantee NOT IN (0, relowner) GROUP BY grantee
      LOOP
        EXECUTE statement;
      END LOOP;
      EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', facts, part, start, start + size);
    END IF;
    start := start + size;
  END LOOP;
  RETURN (last_checkpoint / size + 1) * size;
END
$$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION log_partitions(regclass, bigint, bigint) FROM PUBLIC;
--> statement-breakpoint
-- Proves that the former table is the first partition, so that nothing is scanned while the log is locked. In a
-- database with facts, `migrate` has added it before, in transactions of their own (bound-facts.ts).
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'log_facts'::regclass AND conname = 'log_facts_end') THEN
    ALTER TABLE log_facts ADD CONSTRAINT log_facts_end CHECK (checkpoint < 10000000);
  END IF;
END
$$;
--> statement-breakpoint
ALTER TABLE "log_facts" RENAME TO "log_facts_from_0";--> statement-breakpoint
ALTER TABLE "log_facts_from_0" RENAME CONSTRAINT "log_facts_checkpoint_transaction_kind_index_pk" TO "log_facts_from_0_pkey";--> statement-breakpoint
CREATE TABLE "log_facts" (LIKE "log_facts_from_0" INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY RANGE ("checkpoint");
--> statement-breakpoint
ALTER TABLE "log_facts" ADD CONSTRAINT "log_facts_checkpoint_transaction_kind_index_pk"
  PRIMARY KEY ("checkpoint", "transaction", "kind", "index");
--> statement-breakpoint
CREATE TRIGGER log_facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_facts"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
DO $$
DECLARE
  bound text := (SELECT substring(pg_get_constraintdef(oid) FROM '\d+') FROM pg_constraint
    WHERE conrelid = 'log_facts_from_0'::regclass AND conname = 'log_facts_end');
  statement text;
BEGIN
  FOR statement IN
    SELECT format('GRANT %s ON log_facts TO %s', string_agg(privilege_type, ', '), grantee::regrole)
    FROM pg_class, aclexplode(relacl) WHERE oid = 'log_facts_from_0'::regclass AND grantee NOT IN (0, relowner) GROUP BY grantee
  LOOP
    EXECUTE statement;
  END LOOP;
  EXECUTE format('ALTER TABLE log_facts ATTACH PARTITION log_facts_from_0 FOR VALUES FROM (MINVALUE) TO (%s)', bound);
  ALTER TABLE log_facts_from_0 DROP CONSTRAINT log_facts_end;
  PERFORM log_partitions('log_facts', bound::bigint - 1, bound::bigint - 1);
END
$$;
