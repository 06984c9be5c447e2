/**
 * A holder's statement: its row of a cap table, what proves that the row is part of the table, and who
 * says so. Its form and its checks are those of client/verify-statement.mjs.
 */
import {
  FORMAT,
  type Statement,
  signedStatement,
  VERSION,
} from "../../client/verify-statement.mjs";
import type { Sql } from "../database/connect.ts";
import type { CheckpointMark } from "../log/fact.ts";
import {
  type CapRow,
  type CapTables,
  createCapTables,
  isRowOf,
  shareOf,
  type Whose,
} from "../projections/cap-tables.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { readMeta } from "../projections/meta.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { publishRoot, type RootQuota } from "./published-roots.ts";

/** The cap table has no row of this holder or wallet: it held nothing then. Nothing to do. */
export class NoRowError extends Error {
  override readonly name = "NoRowError";
  readonly remedy: Remedy = "stop";

  constructor(whose: Whose, coinType: string, checkpoint: bigint) {
    const who = "owner" in whose ? `the wallet ${whose.owner}` : `the holder ${whose.holderId}`;
    super(`${who} held nothing of ${coinType} at checkpoint ${checkpoint}: it has no statement`);
  }
}

/** The log does not know whose checkpoints it has, so nothing about them is signed. Wait, or tell it. */
export class ChainUnknownError extends Error {
  override readonly name = "ChainUnknownError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      "the chain of this log is not known yet, so no statement can be signed; a LEDGER_SOURCE that is a full node tells it, and so does `chainId` in the ledger.json of a folder",
    );
  }
}

/**
 * The rows of a cap table do not add up to the treasury's supply: the database was altered, or there is a
 * defect. Nothing is signed, because a root that was published stays. Stop: reconcile the register.
 */
export class SupplyMismatchError extends Error {
  override readonly name = "SupplyMismatchError";
  readonly remedy: Remedy = "stop";

  constructor(coinType: string, checkpoint: bigint, issued: bigint, totalSupply: bigint) {
    super(
      `the rows of ${coinType} at checkpoint ${checkpoint} add up to ${issued}, but the treasury's supply is ${totalSupply}. Nothing is signed: run \`holderbook reconcile\``,
    );
  }
}

export type StatementOptions = {
  /** Of a process that keeps registers. */
  readonly tables?: CapTables | undefined;
  /** Of the key that asks for it. */
  readonly quota?: RootQuota | undefined;
};

/**
 * Makes a statement, and publishes its root.
 * @throws NoRowError (stop), ChainUnknownError (wait), RootConflictError (stop), SupplyMismatchError (stop),
 * RootsOfDayError (wait)
 */
export const makeStatement = async (
  { db, sql }: { readonly db: GuardedReads; readonly sql: Sql },
  key: DeploymentKey,
  table: {
    readonly coinType: string;
    readonly decimals: number | null;
    readonly mark: CheckpointMark;
    readonly totalSupply: bigint | null;
  },
  whose: Whose,
  { tables = createCapTables(), quota }: StatementOptions = {},
): Promise<Statement> => {
  const { coinType, mark } = table;
  const { sequence: checkpoint, timestampMs, digest } = mark;
  const { chainId } = await readMeta(db);
  if (chainId === null) throw new ChainUnknownError();
  const at = { checkpoint, timestampMs };
  const proven = await tables.proven(db, { coinType, at, isMeant: isRowOf(whose) });
  if (proven === null) throw new NoRowError(whose, coinType, checkpoint);
  const { totalSupply } = table;
  if (totalSupply !== null && totalSupply !== proven.issued) {
    throw new SupplyMismatchError(coinType, checkpoint, proven.issued, totalSupply);
  }
  const root = {
    chainId,
    coinType,
    checkpoint: checkpoint.toString(),
    checkpointDigest: digest,
    root: proven.root,
    total: proven.issued.toString(),
  };
  const {
    keyId,
    publicKey,
    signature: rootSignature,
  } = await publishRoot({ sql }, key, root, quota);
  const unsigned = {
    format: FORMAT,
    version: VERSION,
    ...root,
    decimals: table.decimals,
    checkpointTimestamp: (timestampMs / 1_000n).toString(),
    row: rowOf(proven.row, proven.issued),
    path: proven.path.map(({ hash, sum, side }) => ({ hash, sum: sum.toString(), side })),
    totalSupply: totalSupply?.toString() ?? null,
    keyId,
    publicKey,
    rootSignature,
  };
  return { ...unsigned, signature: key.sign(signedStatement(unsigned)).signature };
};

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
