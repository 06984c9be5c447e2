/** The packages of the contract that the log knows: those it was begun with and those that joined. */
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { createRemembered, type MaybePromise } from "../database/remembered.ts";
import { appendingPart, writeNow } from "../database/writing.ts";
import type { JoinedPackage } from "./fact.ts";
import { logPackages } from "./tables.ts";

/** An expression over a row of `log_high_water`: all of them, original first, then as they joined. */
export const KNOWN_PACKAGES = `
  packages || array(select address from log_packages order by checkpoint, transaction)`;

/** Records packages that join, inside the transaction that appends the facts of theirs. */
export const appendPackages = async (sql: Sql, joined: readonly JoinedPackage[]): Promise<void> => {
  if (joined.length === 0) return;
  const { part, parameters } = appendingPart(logPackages, joined, 1);
  await writeNow(sql, { parts: [part], parameters });
};

/** All of them; null instead of a checkpoint for those that the log was begun with. */
export const packagesInLog = (
  sql: Sql,
): Promise<readonly { readonly address: string; readonly checkpoint: bigint | null }[]> => sql`
  select address, checkpoint from (
    select address, place, null::int8 as checkpoint, 0 as transaction
    from log_high_water, unnest(packages) with ordinality as begun (address, place)
    union all
    select address, null, checkpoint, transaction from log_packages
  ) as known
  order by place nulls last, checkpoint, transaction`;

/** How long a package that joined may go unnoticed, in milliseconds. */
const FRESH_MS = 900;

/**
 * The log's packages as they are now or were a second ago, read at most once a second.
 * @param configured what counts while no log has been begun
 */
export const watchPackages = (
  on: Reads,
  configured: readonly string[],
): (() => MaybePromise<readonly string[]>) => {
  const remembered = createRemembered<readonly string[]>({ freshMs: FRESH_MS, max: 1 });
  const load = async () => {
    const [row] = await read<{ readonly packages: readonly string[] }>(on, KNOWN, []);
    return row?.packages ?? configured;
  };
  return () => remembered.get("", load);
};

const KNOWN = `select to_jsonb(${KNOWN_PACKAGES}) as packages from log_high_water`;
