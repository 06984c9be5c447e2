-- A batch is folded into the balances by one statement, which can neither touch a row twice nor look
-- back at what it made. So what follows from a fold is the table's own business.

-- An owner without objects has no row.
CREATE FUNCTION balances_drop_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM balances WHERE coin_type = NEW.coin_type AND owner = NEW.owner;
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER balances_emptied AFTER UPDATE ON "balances" FOR EACH ROW
  WHEN (NEW.token_count = 0 AND NEW.grant_count = 0 AND NEW.token_balance = 0 AND NEW.grant_balance = 0)
  EXECUTE FUNCTION balances_drop_emptied();
--> statement-breakpoint
-- Sums that no objects can have: somebody else changed the rows. The fold calls it for such a row.
CREATE FUNCTION balances_refuse(part text, coin_type text, owner text, held numeric, objects integer)
  RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% balance of % in % would become % in % objects; rebuild the pipeline from the log',
    part, owner, coin_type, held, objects USING ERRCODE = 'HB001';
END
$$;
