-- Facts are written once and never changed: the database itself refuses anything else.
-- An operator who starts over drops the database.
CREATE FUNCTION log_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER log_facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_facts"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
--> statement-breakpoint
CREATE TRIGGER log_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "log_checkpoints"
  FOR EACH STATEMENT EXECUTE FUNCTION log_refuse_change();
