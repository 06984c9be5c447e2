/** Packages of the contract: those the log began with, and those that joined. */
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { createShortCache, type MaybePromise } from "../database/short-cache.ts";
import { appendingPart, writeNow } from "../database/writing.ts";
import type { JoinedPackage } from "./fact.ts";
import { logPackages } from "./tables.ts";

/** SQL over a row of `log_high_water`: original first, then in order of joining. */
export const KNOWN_PACKAGES = `
  packages || array(select address from log_packages order by checkpoint, transaction)`;

/** Records joining packages, in the transaction of the append. */
export const appendPackages = async (sql: Sql, joined: readonly JoinedPackage[]): Promise<void> => {
  if (joined.length === 0) return;
  const { part, parameters } = appendingPart(logPackages, joined, 1);
  await writeNow(sql, { parts: [part], parameters });
};

/** All packages, with the checkpoint of joining; null for those the log began with. */
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

/** Maximum delay in ms until a joined package is seen. */
const FRESH_MS = 900;

/**
 * The log's packages, at most a second old.
 * @param configured used while no log exists
 */
export const watchPackages = (
  on: Reads,
  configured: readonly string[],
): (() => MaybePromise<readonly string[]>) => {
  const cache = createShortCache<readonly string[]>({ freshMs: FRESH_MS, max: 1 });
  const load = async () => {
    const [row] = await read<{ readonly packages: readonly string[] }>(on, KNOWN, []);
    return row?.packages ?? configured;
  };
  return () => cache.get("", load);
};

const KNOWN = `select to_jsonb(${KNOWN_PACKAGES}) as packages from log_high_water`;
