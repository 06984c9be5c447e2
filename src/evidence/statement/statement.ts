/**
 * Makes a holder's statement: its cap table row, the proof of inclusion, and the deployment's
 * signature. See client/verify-statement.ts for the form and checks.
 */

import { shareOf } from "../../../client/cap-rows.ts";
import type { Step } from "../../../client/sum-tree.ts";
import { FORMAT, type Statement, signedStatement } from "../../../client/verify-statement.ts";
import type { DeploymentKey } from "../../audit/sequence/deployment-key.ts";
import {
  countRoot,
  publishRoot,
  publishRoot2,
  type RootQuota,
  rootEntryOf,
} from "../../audit/sequence/published-roots.ts";
import { assertRows, coveredDecimals, rootsOf } from "../../audit/sequence/table-roots.ts";
import type { Database } from "../../database/connect.ts";
import type { TableOf } from "../../projections/cap-table-json.ts";
import {
  type CapRow,
  type CapTables,
  createCapTables,
  isRowOf,
  type Whose,
} from "../../projections/cap-tables.ts";
import type { GuardedReads } from "../../projections/guarded-reads.ts";
import { readMeta } from "../../projections/meta.ts";
import type { Remedy } from "../../waiting/remedy.ts";

/** The cap table has no row for this holder or wallet: it held nothing then. */
export class NoRowError extends Error {
  override readonly name = "NoRowError";
  readonly remedy: Remedy = "stop";

  constructor(whose: Whose, coinType: string, checkpoint: bigint) {
    const who = "owner" in whose ? `the wallet ${whose.owner}` : `the holder ${whose.holderId}`;
    super(`${who} held nothing of ${coinType} at checkpoint ${checkpoint}: it has no statement`);
  }
}

/** The id of the chain is not known, so nothing about it is signed. Wait, or configure it. */
export class ChainUnknownError extends Error {
  override readonly name = "ChainUnknownError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      "the chain of this log is not known yet, so no statement can be signed; set LEDGER_SOURCE to a full node, or add `chainId` to the ledger.json of a folder",
    );
  }
}

/** Version 2 covers the whole row with a sequence entry. */
export type StatementVersion = Statement["version"];

export type StatementOptions = {
  /** Default: 2. */
  readonly version?: StatementVersion | undefined;
  readonly tables?: CapTables | undefined;
  /** The caller's quota. */
  readonly quota?: RootQuota | undefined;
};

/**
 * Makes a statement and publishes its root. Version 2 also publishes a version 1 root, for older
 * readers.
 * @throws NoRowError (stop), ChainUnknownError (wait), RootConflictError (stop),
 * SupplyMismatchError (stop), RootsOfDayError (wait), RowsReplacedError (retry)
 */
export const makeStatement = async (
  {
    db,
    write,
  }: {
    readonly db: GuardedReads;
    readonly write: Pick<Database, "sql" | "transaction" | "statement">;
  },
  key: DeploymentKey,
  table: TableOf,
  whose: Whose,
  { version = 2, tables = createCapTables(), quota }: StatementOptions = {},
): Promise<Statement> => {
  const { coinType, mark, totalSupply } = table;
  const { sequence: checkpoint, timestampMs } = mark;
  const { chainId } = await readMeta(db);
  if (chainId === null) throw new ChainUnknownError();
  const { rebuilds } = await db.committed();
  const published = await rootEntryOf(write.sql, { coinType, checkpoint });
  const decimals = coveredDecimals(published, table);
  const proven = await tables.proven(db, {
    coinType,
    at: { checkpoint, timestampMs },
    matches: isRowOf(whose),
    ...(version === 2 && { decimals }),
  });
  if (proven === null) throw new NoRowError(whose, coinType, checkpoint);
  const { version1, version2 } = rootsOf(chainId, { ...table, decimals }, proven);
  // In version 1's order, for readers that scan lines.
  const about = <Number extends 1 | 2, Root>(of: Number, root: Root, path: readonly Step[]) => ({
    format: FORMAT,
    version: of,
    ...root,
    decimals,
    checkpointTimestamp: (timestampMs / 1_000n).toString(),
    row: rowOf(proven.row, proven.issued),
    path: stepsOf(path),
    totalSupply: totalSupply?.toString() ?? null,
    keyId: key.keyId,
    publicKey: key.publicKey,
  });
  if (version2 === null) {
    const { signature: rootSignature } = await write.transaction(async ({ sql }) => {
      const signed = await publishRoot(sql, key, version1, quota);
      await assertRows(sql, rebuilds);
      return signed;
    });
    const unsigned = { ...about(1, version1, proven.path), rootSignature };
    return { ...unsigned, signature: (await key.sign(signedStatement(unsigned))).signature };
  }
  const entry = await write.transaction(async ({ sql }) => {
    if (published === undefined && quota !== undefined) await countRoot(sql, quota);
    await publishRoot(sql, key, version1);
    const published2 = await publishRoot2(sql, key, version2);
    await assertRows(sql, rebuilds);
    return published2;
  });
  const { number, previous, at, signature: rootSignature } = entry;
  const unsigned = {
    ...about(2, version2, proven.path2 ?? []),
    entry: { number, previous, at },
    rootSignature,
  };
  return { ...unsigned, signature: (await key.sign(signedStatement(unsigned))).signature };
};

const stepsOf = (path: readonly Step[]): Statement["path"] =>
  path.map(({ hash, sum, side }) => ({ hash, sum: sum.toString(), side }));

const rowOf = (row: CapRow, issued: bigint): Statement["row"] => ({
  holderId: row.holderId?.toString() ?? null,
  wallets: row.wallets.map(({ address, balance, groupId, isFrozen }) => ({
    address,
    balance: balance.toString(),
    groupId: groupId?.toString() ?? null,
    isFrozen,
  })),
  balance: row.balance.toString(),
  tokens: row.tokens.toString(),
  granted: row.granted.toString(),
  unlocked: row.unlocked.toString(),
  locked: row.locked.toString(),
  share: shareOf(row.balance, issued),
});
