ALTER TABLE "callback_attempts" ADD COLUMN "url" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "require_bound" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_require_bound" CHECK (not "api_keys"."require_bound" or "api_keys"."kind" = 'ta');