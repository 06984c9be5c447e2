/** Input versions of a log as tests look at them and change them. */
import type { Database } from "../../src/database/connect.ts";
import { appendRows } from "../../src/database/table-rows.ts";
import { START } from "../../src/log/chain-hash.ts";
import { type Input, inputLink } from "../../src/log/input-chain.ts";
import { logInputChain } from "../../src/log/tables.ts";
import type { TestDatabase } from "../postgres.ts";
import { alterLog } from "./damage.ts";

/** Makes the chain of input versions anew over what is stored, as one who can write it would. */
export const chainInputsAnew = (database: TestDatabase) =>
  database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`truncate log_input_chain`;
    const rows = await sql<Input[]>`
      select i.checkpoint, i.transaction, i.index, f.object_id as "objectId", i.version
      from log_inputs i join log_facts f using (checkpoint, transaction, index)
      where f.kind = 1 order by i.checkpoint, i.transaction, i.index`;
    const [{ from } = { from: 0n }] = await sql<{ from: bigint }[]>`
      select inputs_from as from from log_high_water`;
    let hash = START;
    let before = -1n;
    const links = [...Map.groupBy(rows, ({ checkpoint }) => checkpoint)].map(
      ([checkpoint, own]) => {
        const link = inputLink(before < from && checkpoint >= from ? START : hash, checkpoint, own);
        ({ hash } = link);
        before = checkpoint;
        return link;
      },
    );
    await appendRows(sql, logInputChain, links);
  });

/** Makes the log one of a version that kept no input versions. */
export const forgetInputs = (database: TestDatabase) =>
  alterLog(
    database,
    "truncate log_inputs, log_input_chain; update log_high_water set inputs_from = null",
  );

/** All links of the chain, hex. */
export const inputHashes = async ({ sql }: Database): Promise<readonly string[]> => {
  const rows = await sql<{ hash: Buffer }[]>`select hash from log_input_chain order by checkpoint`;
  return rows.map(({ hash }) => hash.toString("hex"));
};

/** Checkpoints with changes of objects, and the number of input versions of each. */
export const inputCounts = async ({ sql }: Database): Promise<ReadonlyMap<bigint, number>> => {
  const rows = await sql<{ checkpoint: bigint; inputs: number }[]>`
    select checkpoint, count(i.index)::int as inputs
    from log_facts f left join log_inputs i using (checkpoint, transaction, index)
    where f.kind = 1 group by checkpoint order by checkpoint`;
  return new Map(rows.map(({ checkpoint, inputs }) => [checkpoint, inputs]));
};

/** Names another object in the facts of a transaction. */
export const alterObject = (database: TestDatabase, checkpoint: bigint, transaction: number) =>
  alterLog(
    database,
    `update log_facts set object_id = '0xbad' where checkpoint = ${checkpoint} and transaction = ${transaction}`,
  );

/** Until the function is called, ends the connection of whoever writes inputs, before their links are written. */
export const killingWriters = async ({ sql }: TestDatabase) => {
  await sql.unsafe(`
    create table kills (go_on boolean); insert into kills values (true);
    create function kill() returns trigger language plpgsql as $$
    begin
      if (select go_on from kills) then perform pg_terminate_backend(pg_backend_pid()); end if;
      return null;
    end $$;
    create trigger kill after insert on log_inputs for each statement execute function kill()`);
  return async () => {
    await sql`update kills set go_on = false`;
  };
};
