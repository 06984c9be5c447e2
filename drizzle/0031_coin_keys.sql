-- Keys of what belongs to a coin contain its type: no database that is divided by coin accepts another unique index.
-- `migrate` builds this file's unique indexes before the transaction, while other processes go on writing.

-- A grant's coin is that of its states; or of its facts, where the pipeline of grants is elsewhere or holds the coin.
-- Only the pipeline of tokens waits for this table.
ALTER TABLE "token_grants" ADD COLUMN "coin_type" text collate "C", DROP CONSTRAINT "token_grants_pkey";--> statement-breakpoint
UPDATE "token_grants" AS g SET "coin_type" = o."coin_type"
FROM "timelock_objects" AS o WHERE o."object_id" = g."object_id";--> statement-breakpoint
UPDATE "token_grants" AS g SET "coin_type" = f."coin_type"
FROM "log_facts" AS f WHERE g."coin_type" IS NULL AND f."object_id" = g."object_id"
  -- Without such a grant the log is not read.
  AND EXISTS (SELECT FROM "token_grants" WHERE "coin_type" IS NULL);--> statement-breakpoint
ALTER TABLE "token_grants" ALTER COLUMN "coin_type" SET NOT NULL,
  ADD CONSTRAINT "token_grants_object_id_coin_type_pk" PRIMARY KEY("object_id","coin_type");--> statement-breakpoint
-- Statements queue behind a lock that is waited for, so it waits briefly, and again.
DO $$
DECLARE
  waiting text := current_setting('lock_timeout');
BEGIN
  FOR attempt IN 1..60 LOOP
    BEGIN
      PERFORM set_config('lock_timeout', '200ms', true);
      LOCK TABLE "shared_token_objects", "shared_token_ranges", "timelock_objects", "timelock_ranges"
        IN ACCESS EXCLUSIVE MODE;
      PERFORM set_config('lock_timeout', waiting, true);
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      PERFORM pg_sleep(least(attempt * 0.2, 5));
    END;
  END LOOP;
  RAISE EXCEPTION 'other sessions have kept shared_token_objects or timelock_objects locked for four minutes; nothing was changed'
    USING ERRCODE = 'lock_not_available', HINT = 'Let exports, replays and backups end, and migrate again.';
END
$$;--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "shared_token_objects_object_id_coin_type_pk" ON "shared_token_objects" ("object_id","coin_type");--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "shared_token_ranges_object_id_checkpoint_coin_type_pk" ON "shared_token_ranges" ("object_id","checkpoint","coin_type");--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "timelock_objects_object_id_coin_type_pk" ON "timelock_objects" ("object_id","coin_type");--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "timelock_ranges_object_id_checkpoint_coin_type_pk" ON "timelock_ranges" ("object_id","checkpoint","coin_type");--> statement-breakpoint
ALTER TABLE "shared_token_objects" DROP CONSTRAINT "shared_token_objects_pkey",
  ADD CONSTRAINT "shared_token_objects_object_id_coin_type_pk" PRIMARY KEY USING INDEX "shared_token_objects_object_id_coin_type_pk";--> statement-breakpoint
ALTER TABLE "shared_token_ranges" DROP CONSTRAINT "shared_token_ranges_object_id_checkpoint_pk",
  ADD CONSTRAINT "shared_token_ranges_object_id_checkpoint_coin_type_pk" PRIMARY KEY USING INDEX "shared_token_ranges_object_id_checkpoint_coin_type_pk";--> statement-breakpoint
ALTER TABLE "timelock_objects" DROP CONSTRAINT "timelock_objects_pkey",
  ADD CONSTRAINT "timelock_objects_object_id_coin_type_pk" PRIMARY KEY USING INDEX "timelock_objects_object_id_coin_type_pk";--> statement-breakpoint
ALTER TABLE "timelock_ranges" DROP CONSTRAINT "timelock_ranges_object_id_checkpoint_pk",
  ADD CONSTRAINT "timelock_ranges_object_id_checkpoint_coin_type_pk" PRIMARY KEY USING INDEX "timelock_ranges_object_id_checkpoint_coin_type_pk";
