ALTER TABLE "shared_token_objects_watermark" ADD COLUMN "held" jsonb;--> statement-breakpoint
ALTER TABLE "shared_token_objects_watermark" ADD COLUMN "undigested_from" bigint;--> statement-breakpoint
ALTER TABLE "timelock_objects_watermark" ADD COLUMN "held" jsonb;--> statement-breakpoint
ALTER TABLE "timelock_objects_watermark" ADD COLUMN "undigested_from" bigint;--> statement-breakpoint
ALTER TABLE "holder_lifecycle_watermark" ADD COLUMN "held" jsonb;--> statement-breakpoint
ALTER TABLE "holder_lifecycle_watermark" ADD COLUMN "undigested_from" bigint;--> statement-breakpoint
ALTER TABLE "role_changes_watermark" ADD COLUMN "held" jsonb;--> statement-breakpoint
ALTER TABLE "role_changes_watermark" ADD COLUMN "undigested_from" bigint;--> statement-breakpoint
ALTER TABLE "token_activity_watermark" ADD COLUMN "held" jsonb;--> statement-breakpoint
ALTER TABLE "token_activity_watermark" ADD COLUMN "undigested_from" bigint;