CREATE TABLE "incomplete_coins" (
	"coin_type" text collate "C" PRIMARY KEY NOT NULL,
	"from_checkpoint" bigint NOT NULL,
	"reason" text NOT NULL,
	"since" timestamp with time zone NOT NULL
);
--> statement-breakpoint
DROP INDEX "log_summaries_in_time";--> statement-breakpoint
-- Each proof of completeness replaces what is noted of the coins that it covers: all, or one.
CREATE FUNCTION completeness_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM public.incomplete_coins WHERE new.coin_type IS NULL OR coin_type = new.coin_type;
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
--> statement-breakpoint
CREATE TRIGGER completeness_note AFTER INSERT ON "completeness"
  FOR EACH ROW EXECUTE FUNCTION completeness_note();
