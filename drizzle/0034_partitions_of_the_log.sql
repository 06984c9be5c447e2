-- `log_partitions` runs as the owner of the tables, at the service's call. It took each `log_facts` of a role whose rights
-- the owner has; of a superuser that is every table, also one of the service's with functions of its own in an index. Now
-- only those of the log's owner, and at most a hundred partitions a call.
DO $$
DECLARE
  body text := pg_get_functiondef('log_partitions(regclass, bigint, bigint)'::regprocedure);
  mended text := replace(
    replace(body, 'pg_has_role(relowner, ''USAGE'')',
      'relowner = (SELECT relowner FROM pg_class WHERE oid = ''public.log_facts''::regclass)'),
    'PERFORM pg_advisory_xact_lock',
    'IF last_checkpoint / size - first_checkpoint / size > 100 OR first_checkpoint < 0 THEN
    RAISE EXCEPTION ''at most 100 partitions at once, not those of checkpoints % to %'', first_checkpoint, last_checkpoint
      USING ERRCODE = ''HB002'';
  END IF;
  PERFORM pg_advisory_xact_lock');
BEGIN
  IF length(mended) < length(body) + 200 THEN
    RAISE EXCEPTION 'log_partitions is not as migration 0032 made it';
  END IF;
  EXECUTE mended;
END
$$;
