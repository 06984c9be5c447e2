/** Checks of blocks (times and digests) and packages, which the fact chain does not cover. */
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import { BLOCKS_BEGIN, checkBlocks } from "../../log/check-blocks.ts";
import { packagesInLog } from "../../log/packages.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";

export type LogRange = {
  readonly first: bigint;
  /** The log ends before this checkpoint. */
  readonly next: bigint;
  /** Null while the source did not report one. */
  readonly chainId: string | null;
};

export const logRange = async (sql: Sql): Promise<LogRange> => {
  const [log] = await sql<LogRange[]>`
    select first_checkpoint as first, next_checkpoint as next, chain_id as "chainId"
    from log_high_water`;
  return log ?? { first: 0n, next: 0n, chainId: null };
};

/** Number of checkpoints checked, and those without blocks. */
type BlocksChecked = { readonly checkpoints: number; readonly notShown: readonly string[] };

/** Checks times and digests; stops after `most` faults. */
export async function* checkAllBlocks(on: Reading, most: number): Stretches<BlocksChecked> {
  const notShown: string[] = [];
  let place = BLOCKS_BEGIN;
  let checkpoints = 0;
  for (let found = 0; found < most; ) {
    const checked = await checkBlocks(on.sql, place);
    ({ place } = checked);
    checkpoints += checked.checkpoints;
    const faults = [...checked.faults];
    if (checked.unfilled !== null) {
      const { from, to } = checked.unfilled;
      const fault = await unfilledFault(on.sql, from, to);
      if (fault === null) {
        notShown.push(`times and digests of checkpoints ${from} to ${to}: they are not filled in`);
      } else faults.push(fault);
    }
    found += faults.length;
    yield faults;
    if (checked.ended) break;
  }
  if (checkpoints === 0) {
    const { first, next } = await logRange(on.sql);
    if (next > first) {
      notShown.push(
        `times and digests of checkpoints ${first} to ${next - 1n}: log_blocks is empty`,
      );
    }
  }
  return { checkpoints, notShown };
}

/** Only a log begun by an older version has facts without blocks. */
const unfilledFault = async (sql: Sql, from: bigint, to: bigint): Promise<LogFault | null> => {
  const rows = await sql`
    select from log_checkpoints where checkpoint between ${from} and ${to} limit 1`;
  if (rows.length > 0) return null;
  const what = `log_blocks lacks checkpoints ${from} to ${to}: they were deleted, or log_high_water.first_checkpoint was altered`;
  return { checkpoint: from, what };
};

/** Packages that only a source can show, and those that nothing can. */
type PackagesChecked = {
  readonly faith: readonly string[];
  readonly beyond: readonly string[];
};

/** Checks the packages in one stretch. */
export async function* checkPackages(on: Reading): Stretches<PackagesChecked> {
  const packages = await packagesInLog(on.sql);
  // Read after them: the log includes each one's first checkpoint.
  const { first, next } = await logRange(on.sql);
  const [faults, faith]: [LogFault[], string[]] = [[], []];
  const begun = packages.filter(({ checkpoint }) => checkpoint === null);
  const beyond =
    begun.length === 0
      ? []
      : [
          `packages ${begun.map(({ address }) => address).join(", ")}: the log was begun with them, and keeps no facts of others`,
        ];
  for (const { address, checkpoint } of packages) {
    if (checkpoint === null) continue;
    if (checkpoint < first || checkpoint >= next) {
      const what = `log_packages: package ${address} joined at a checkpoint that the log does not have`;
      faults.push({ checkpoint, what });
    } else if (begun.some((known) => known.address === address)) {
      faults.push({ checkpoint, what: `log_packages: the log was begun with package ${address}` });
    } else faith.push(`package ${address}: that checkpoint ${checkpoint} published it`);
  }
  yield faults;
  return { faith, beyond };
}
