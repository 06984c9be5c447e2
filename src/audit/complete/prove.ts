/**
 * Whether the log has every transaction of a coin: chains, closure, conservation, the contract's
 * code and the heads, with what rests on whose word.
 */
import type { Database, Sql } from "../../database/connect.ts";
import type { AcceptedBytecode } from "../../ledger/contract/bytecode.ts";
import { PROFILE } from "../../ledger/contract/profile.ts";
import { checkChainOf } from "../../ledger/history/history-errors.ts";
import type { Verification } from "../../ledger/reading/proving.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { checkpointMark } from "../../log/blocks.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { guidedRanges } from "../../log/guided.ts";
import { readHighWater } from "../../log/high-water.ts";
import { proofOf } from "../../log/proofs.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { chainsOf } from "./chains.ts";
import { closureOf } from "./closure.ts";
import { type CheckedCode, checkCode } from "./code.ts";
import { checkMetadata } from "./metadata.ts";
import { onFaithOfAll } from "./on-faith.ts";
import { type AskedNodes, headsOf, type ServedHeads } from "./served-heads.ts";
import { type CoinProof, proofOfCoin } from "./verdict.ts";
import { type CheckpointCounts, wholeCheckpoints } from "./whole-checkpoints.ts";

/** There is nothing to prove about. Stop: the message says why. */
export class NothingToProveError extends Error {
  override readonly name = "NothingToProveError";
  readonly remedy: Remedy = "stop";
}

export type ProofRequest = AskedNodes & {
  /** Canonical; all coins of the contract by default. */
  readonly coinType?: string | undefined;
  /** A checkpoint that was read; the log's last by default. */
  readonly through?: bigint | undefined;
  readonly source: CheckpointSource;
  readonly verification: Verification;
  readonly accepted: AcceptedBytecode;
};

export type Proof = {
  readonly chainId: string | null;
  readonly packages: readonly string[];
  readonly profile: string;
  readonly through: CheckpointMark;
  readonly isGuided: boolean;
  readonly code: CheckedCode;
  readonly heads: readonly ServedHeads[];
  /** Of code, metadata and changed heads. */
  readonly whole: CheckpointCounts;
  readonly coins: readonly CoinProof[];
};

/**
 * Reads all facts of the coins: some twenty seconds per million.
 * @throws NothingToProveError (stop), IndexOfOtherChainError (stop), errors of the source and lists
 */
export const prove = async (
  database: Pick<Database, "sql" | "session">,
  request: ProofRequest,
  signal: AbortSignal,
): Promise<Proof> => {
  // Sorts of the whole log; other settings stay as they are.
  await using session = await database.session({ runtime: { work_mem: "64MB" } });
  const { sql } = session;
  const log = await logTo(sql, request, signal);
  const { first, through: mark, isGuided } = log;
  const through = mark.sequence;
  const coins = await coinsOf(sql, request.coinType);
  const chains = await chainsOf(sql, { first, through }, coins);
  signal.throwIfAborted();
  const closures = await closureOf(sql, through, coins);
  signal.throwIfAborted();
  const unsigned = new Set<bigint>();
  const checkpoints = wholeCheckpoints({
    ...{ source: request.source, verification: request.verification, onFaith: unsigned },
    bySignature:
      request.verification.level === "signatures" || (await proofOf({ sql }, through)) !== null,
    // Not the session's: it is read by a cursor meanwhile.
    sql: database.sql,
  });
  const nodes = [request.index, request.witness].filter((node) => node !== null);
  const asked = { ...request, sql, nodes, checkpoints, first, through };
  const code = await checkCode(asked, signal);
  const metadata = await Promise.all(
    nodes.map((index) => checkMetadata({ ...asked, index }, coins, signal)),
  );
  const { heads, hashOf } = await headsOf(sql, request, { coins, through, checkpoints }, signal);
  const found = { first, through, isGuided, code, heads, metadata };
  const onFaith = [...(await onFaithOfAll(sql, found))];
  if (unsigned.size > 0) {
    onFaith.push(
      `${unsigned.size} checkpoints that are not in the log, without a verified signature: ${checkpoints.source}`,
    );
  }
  const proofs: CoinProof[] = [];
  for (const one of chains) {
    const { coinType } = one;
    const closure = closures.find((each) => each.coinType === coinType);
    const ofCoin = { chains: one, closure, headsHash: hashOf(coinType) };
    proofs.push(await proofOfCoin(sql, ofCoin, { ...found, onFaith }));
  }
  const { chainId, packages } = log;
  return {
    ...{ chainId, packages, profile: PROFILE, through: mark },
    ...{ isGuided, code, heads, whole: checkpoints.counts(), coins: proofs },
  };
};

/**
 * The log up to the checkpoint asked about.
 * @throws NothingToProveError (stop), IndexOfOtherChainError (stop)
 */
const logTo = async (sql: Sql, request: ProofRequest, signal: AbortSignal) => {
  const log = await readHighWater(sql);
  if (log?.last == null) throw new NothingToProveError("the log is empty: nothing was read yet");
  // A node of another chain serves none of the objects: all would count as gone.
  for (const node of [request.index, request.witness]) {
    if (node !== null) await checkChainOf(node, log.chainId, signal);
  }
  const { chainId, packages, firstCheckpoint, last } = log;
  const { through: asked = last.sequence } = request;
  const through = await checkpointMark({ sql }, asked);
  if (through === null || asked > last.sequence) {
    throw new NothingToProveError(
      `checkpoint ${asked} was not read: the log ends with ${last.sequence}; prove through one that was read`,
    );
  }
  const isGuided = (await guidedRanges({ sql })).some(({ first }) => first <= asked);
  return { chainId, packages, first: firstCheckpoint, through, isGuided };
};

/** @throws NothingToProveError (stop) */
const coinsOf = async (sql: Sql, coinType: string | undefined): Promise<readonly string[]> => {
  const rows = await sql<{ coin_type: string }[]>`
    select coin_type from log_coins where is_security order by coin_type collate "C"`;
  const known = rows.map((row) => row.coin_type);
  if (coinType === undefined) {
    if (known.length > 0) return known;
    throw new NothingToProveError("the log has no token of the contract");
  }
  if (known.includes(coinType)) return [coinType];
  throw new NothingToProveError(`the log has no token ${coinType}`);
};
