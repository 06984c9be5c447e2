DROP INDEX "callback_lanes_wake";--> statement-breakpoint
ALTER TABLE "callback_lanes" ALTER COLUMN "wake_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "ta_lanes" ALTER COLUMN "token" SET DEFAULT gen_random_uuid();--> statement-breakpoint
-- Lanes that no worker has claimed yet.
UPDATE "ta_lanes" SET "token" = gen_random_uuid() WHERE "token" IS NULL;--> statement-breakpoint
ALTER TABLE "ta_lanes" ALTER COLUMN "token" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "ta_lanes" ADD COLUMN "due_at" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
CREATE INDEX "callback_lanes_wake" ON "callback_lanes" USING btree ("wake_at") WHERE wake_at is not null;