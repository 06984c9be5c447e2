-- A proof says nothing about what reading noted of later checkpoints.
CREATE OR REPLACE FUNCTION completeness_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.incomplete_coins
  WHERE (new.coin_type IS NULL OR coin_type = new.coin_type) AND from_checkpoint <= new.through;
  INSERT INTO public.incomplete_coins (coin_type, from_checkpoint, reason, since)
  SELECT DISTINCT ON (coin) coin, since_checkpoint,
         left(format('object %s, version %s: %s', object, version, why), 400)
           || CASE WHEN objects > 1 THEN format('; and %s more', objects - 1) ELSE '' END,
         new.made_at
  FROM (
    SELECT "coinType" AS coin, "objectId" AS object, version, why, coalesce("from"::bigint, 0) AS since_checkpoint,
           count(*) OVER (PARTITION BY "coinType") AS objects
    FROM jsonb_to_recordset(new.incomplete)
      AS missing("coinType" text, "objectId" text, version text, why text, "from" text)
  ) AS missing
  ORDER BY coin, since_checkpoint, object, version
  ON CONFLICT (coin_type) DO UPDATE
  SET from_checkpoint = excluded.from_checkpoint, reason = excluded.reason, since = excluded.since;
  RETURN NULL;
END $$;
