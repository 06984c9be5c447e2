-- A replay builds a projection's rows a second time, in tables of the schema holderbook_replay, and exchanges those
-- tables for the served ones without copying a row. These functions make, index, exchange and drop the tables with
-- the rights of their owner: the service may create nothing in public, and has to finish an upgrade by itself.
-- They refuse tables that are not marked as projections, which only the owner can do, and touch no other schemas.

-- Earlier versions filled tables in one schema per pipeline.
DO $$
DECLARE
  leftover name;
BEGIN
  FOR leftover IN SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'filling_') LOOP
    EXECUTE format('DROP SCHEMA %I CASCADE', leftover);
  END LOOP;
END
$$;
--> statement-breakpoint
CREATE FUNCTION replay_served(name text) RETURNS regclass LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  served regclass := to_regclass(format('public.%I', name));
BEGIN
  IF served IS NULL OR obj_description(served, 'pg_class') IS DISTINCT FROM 'holderbook: projection' THEN
    RAISE EXCEPTION '% is not the table of a projection', name USING ERRCODE = 'HB002';
  END IF;
  RETURN served;
END
$$;
--> statement-breakpoint
-- Creates missing tables, empty, with keys, triggers and rights of the served ones. Their other indexes follow
-- once the rows are in.
CREATE FUNCTION replay_make(names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
  served regclass;
  made text;
  statement text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('holderbook replay'));
  FOREACH name IN ARRAY names LOOP
    served := public.replay_served(name);
    made := format('holderbook_replay.%I', name);
    CONTINUE WHEN to_regclass(made) IS NOT NULL;
    EXECUTE format(
      'CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE)', made, served);
    EXECUTE format('COMMENT ON TABLE %s IS %L', made, 'holderbook: projection');
    FOR statement IN
      SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', made, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE conrelid = served AND contype IN ('p', 'u', 'c')
      UNION ALL
      SELECT replace(pg_get_triggerdef(oid), format(' ON public.%I ', name), format(' ON %s ', made))
      FROM pg_trigger WHERE tgrelid = served AND NOT tgisinternal
      UNION ALL
      SELECT format('GRANT %s ON %s TO %s', string_agg(privilege_type, ', '), made, grantee::regrole)
      FROM pg_class, aclexplode(relacl) WHERE oid = served AND grantee NOT IN (0, relowner) GROUP BY grantee
    LOOP
      EXECUTE statement;
    END LOOP;
  END LOOP;
END
$$;
--> statement-breakpoint
-- Creates the indexes that tables of the replay still lack.
CREATE FUNCTION replay_index(names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
  statement text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('holderbook replay'));
  FOREACH name IN ARRAY names LOOP
    FOR statement IN
      SELECT replace(pg_get_indexdef(indexrelid), format(' ON public.%I ', name), format(' ON holderbook_replay.%I ', name))
      FROM pg_index JOIN pg_class ON oid = indexrelid
      WHERE indrelid = public.replay_served(name) AND to_regclass(format('holderbook_replay.%I', relname)) IS NULL
    LOOP
      EXECUTE statement;
    END LOOP;
    EXECUTE format('ANALYZE holderbook_replay.%I', name);
  END LOOP;
END
$$;
--> statement-breakpoint
-- Exchanges tables of the replay for the served ones, which go to the schema holderbook_before. `names` in the order
-- in which readers lock them (watermarks first), or the two wait for each other.
CREATE FUNCTION replay_exchange(names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY names LOOP
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', public.replay_served(name));
  END LOOP;
  FOREACH name IN ARRAY names LOOP
    EXECUTE format('ALTER TABLE public.%I SET SCHEMA holderbook_before', name);
    EXECUTE format('ALTER TABLE holderbook_replay.%I SET SCHEMA public', name);
  END LOOP;
END
$$;
--> statement-breakpoint
-- Drops what is there of these tables in one of the two schemas.
CREATE FUNCTION replay_drop(place text, names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
  made regclass;
BEGIN
  IF place NOT IN ('holderbook_replay', 'holderbook_before') THEN
    RAISE EXCEPTION 'no replay has tables in %', place USING ERRCODE = 'HB002';
  END IF;
  FOREACH name IN ARRAY names LOOP
    made := to_regclass(format('%I.%I', place, name));
    CONTINUE WHEN made IS NULL;
    IF obj_description(made, 'pg_class') IS DISTINCT FROM 'holderbook: projection' THEN
      RAISE EXCEPTION '% is not the table of a projection', made USING ERRCODE = 'HB002';
    END IF;
    EXECUTE format('DROP TABLE %s', made);
  END LOOP;
END
$$;
--> statement-breakpoint
REVOKE EXECUTE ON FUNCTION replay_make(text[]), replay_index(text[]), replay_exchange(text[]), replay_drop(text, text[])
  FROM PUBLIC;
--> statement-breakpoint
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY[
    'token_activity_watermark', 'shared_token_objects_watermark', 'timelock_objects_watermark',
    'holder_lifecycle_watermark', 'role_changes_watermark', 'token_activity', 'token_activity_digests',
    'shared_token_objects', 'shared_token_ranges', 'token_changes', 'token_grants', 'tokens',
    'token_supplies', 'shared_token_objects_digests', 'timelock_objects', 'timelock_ranges', 'grant_changes',
    'timelock_objects_digests', 'holder_events', 'membership_ranges', 'holder_lifecycle_digests',
    'role_events', 'wallet_roles', 'role_ranges', 'role_changes_digests', 'balances'
  ] LOOP
    EXECUTE format('COMMENT ON TABLE public.%I IS %L', name, 'holderbook: projection');
  END LOOP;
END
$$;
