/**
 * Whether the log has every transaction of a coin: chains, closure, conservation, the contract's
 * code and the heads, with what rests on whose word.
 */
import { createHash } from "node:crypto";
import type { Database, Sql } from "../../database/connect.ts";
import type { AcceptedBytecode } from "../../ledger/contract/bytecode.ts";
import { TREASURY } from "../../ledger/contract/names.ts";
import { PROFILE } from "../../ledger/contract/profile.ts";
import { checkChainOf } from "../../ledger/history/history-errors.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import type { Verification } from "../../ledger/reading/proving.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { checkpointMark } from "../../log/blocks.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { guidedRanges } from "../../log/guided.ts";
import { readHighWater } from "../../log/high-water.ts";
import { allCommittees, proofOf } from "../../log/proofs.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { type CoinChains, chainsOf, type Gap, gapsOf } from "./chains.ts";
import { type CoinClosure, closureOf, foreignTo } from "./closure.ts";
import { type CheckedCode, checkCode } from "./code.ts";
import { type CheckedHeads, liveObjects, openHeadsCheck } from "./heads.ts";
import { checkMetadata } from "./metadata.ts";
import { type CheckpointCounts, wholeCheckpoints } from "./whole-checkpoints.ts";

/** There is nothing to prove about. Stop: the message says why. */
export class NothingToProveError extends Error {
  override readonly name = "NothingToProveError";
  readonly remedy: Remedy = "stop";
}

export type ProofRequest = {
  /** Canonical; all coins of the contract by default. */
  readonly coinType?: string | undefined;
  /** A checkpoint that was read; the log's last by default. */
  readonly through?: bigint | undefined;
  readonly source: CheckpointSource;
  readonly verification: Verification;
  /** The lists of a node, and a second node's heads; null without. */
  readonly index: LedgerIndex | null;
  readonly witness: LedgerIndex | null;
  readonly accepted: AcceptedBytecode;
  /** Before a node's answer that lags is asked for again, ms. */
  readonly againMs?: number | undefined;
  /** Live objects asked for at once. */
  readonly objectsPerRead?: number | undefined;
};

export type ServedHeads = CheckedHeads & { readonly as: "source" | "witness" };

/** A coin without a gap is only `complete` when everything was shown. */
export type Verdict = "complete" | "incomplete" | "not shown";

export type CoinProof = {
  readonly coinType: string;
  readonly verdict: Verdict;
  readonly chains: CoinChains;
  readonly transactions: bigint;
  /** As `headsHash` in `client/completeness.ts`. */
  readonly headsHash: string;
  /** Why it is incomplete: the first of each kind. */
  readonly gaps: readonly Gap[];
  readonly notShown: readonly string[];
  /** Of those: versions that a node says are missing, which another denies or nothing shows. */
  readonly newer: readonly OpenVersion[];
  readonly onFaith: readonly string[];
};

export type OpenVersion = Pick<Gap, "objectId" | "version" | "what">;

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

/** Kept of each kind and coin. */
const MOST_GAPS = 10;

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
  const log = await readHighWater(sql);
  if (log?.last == null) throw new NothingToProveError("the log is empty: nothing was read yet");
  // A node of another chain serves none of the objects: all would count as gone.
  for (const node of [request.index, request.witness]) {
    if (node !== null) await checkChainOf(node, log.chainId, signal);
  }
  const { through: asked = log.last.sequence } = request;
  const through = await checkpointMark({ sql }, asked);
  if (through === null || asked > log.last.sequence) {
    throw new NothingToProveError(
      `checkpoint ${asked} was not read: the log ends with ${log.last.sequence}; prove through one that was read`,
    );
  }
  const coins = await coinsOf(sql, request.coinType);
  const ranges = await guidedRanges({ sql });
  const isGuided = ranges.some(({ first }) => first <= asked);
  const { firstCheckpoint: first } = log;
  const chains = await chainsOf(sql, { first, through: asked }, coins);
  signal.throwIfAborted();
  const closure = new Map(
    (await closureOf(sql, asked, coins)).map((one) => [one.coinType, one] as const),
  );
  signal.throwIfAborted();
  // Not the session's: it is read by a cursor meanwhile.
  const bySignature =
    request.verification.level === "signatures" || (await proofOf(sql, asked)) !== null;
  const unsigned = new Set<bigint>();
  const whole = wholeCheckpoints({
    ...{ ...request, bySignature },
    sql: database.sql,
    onFaith: unsigned,
  });
  const nodes = [request.index, request.witness].filter((node) => node !== null);
  const code = await checkCode(
    { ...request, sql, nodes, checkpoints: whole, first, through: asked },
    signal,
  );
  const metadata = await Promise.all(
    nodes.map((index) =>
      checkMetadata({ sql, index, checkpoints: whole, first, through: asked }, coins, signal),
    ),
  );
  const { heads, hashes } = await headsOf(sql, request, { coins, through: asked, whole }, signal);
  const common: Common = {
    ...{ first, through: asked, isGuided, code, heads, metadata },
    onFaith: [
      ...(await onFaithOfAll(sql, { through: asked, isGuided, code, heads })),
      ...(unsigned.size === 0
        ? []
        : [
            `${unsigned.size} checkpoints that are not in the log, without a verified signature: ${whole.source}`,
          ]),
    ],
  };
  const proofs: CoinProof[] = [];
  for (const one of chains) {
    const headsHash = hashes.get(one.coinType) ?? NO_HEADS;
    const found = { chains: one, closure: closure.get(one.coinType), headsHash };
    proofs.push(await proofOfCoin(sql, found, common));
  }
  const { chainId, packages } = log;
  return {
    ...{ chainId, packages, profile: PROFILE, through },
    ...{ isGuided, code, heads, whole: whole.counts(), coins: proofs },
  };
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

const NO_HEADS = createHash("sha256").digest("hex");

/** Reads live objects once, for every node and for the hashes. */
const headsOf = async (
  sql: Sql,
  { index, witness, againMs, objectsPerRead }: ProofRequest,
  {
    coins,
    through,
    whole: checkpoints,
  }: {
    readonly coins: readonly string[];
    readonly through: bigint;
    readonly whole: ReturnType<typeof wholeCheckpoints>;
  },
  signal: AbortSignal,
) => {
  const asked = [
    ...(index === null ? [] : [{ as: "source" as const, index }]),
    ...(witness === null ? [] : [{ as: "witness" as const, index: witness }]),
  ];
  const checks = await Promise.all(
    asked.map(async ({ as, index: node }) => ({
      as,
      check: await openHeadsCheck(
        {
          ...{ index: node, checkpoints, through, againMs },
          others: asked.flatMap(({ index: other }) => (other === node ? [] : [other])),
        },
        signal,
      ),
    })),
  );
  const hashing = new Map<string, ReturnType<typeof createHash>>();
  for await (const page of liveObjects(sql, through, coins, objectsPerRead)) {
    for (const { coinType, objectId, version } of page) {
      const hash = hashing.get(coinType) ?? createHash("sha256");
      hashing.set(coinType, hash.update(`${objectId} ${version}\n`));
    }
    for (const { check } of checks) await check.page(page, signal);
  }
  return {
    heads: checks.map(({ as, check }): ServedHeads => ({ as, ...check.result() })),
    hashes: new Map([...hashing].map(([coinType, hash]) => [coinType, hash.digest("hex")])),
  };
};

type Common = Pick<Proof, "isGuided" | "code" | "heads"> & {
  readonly first: bigint;
  readonly through: bigint;
  readonly metadata: readonly Pick<CheckedHeads, "gaps" | "notShown">[];
  readonly onFaith: readonly string[];
};

const proofOfCoin = async (
  sql: Sql,
  found: {
    readonly chains: CoinChains;
    readonly closure: CoinClosure | undefined;
    readonly headsHash: string;
  },
  common: Common,
): Promise<CoinProof> => {
  const { chains, closure, headsHash } = found;
  const { coinType } = chains;
  const { first, through, isGuided, code, heads, metadata, onFaith } = common;
  const one = [coinType];
  const gaps: Gap[] = [];
  const notShown = [...code.notShown];
  const newer: OpenVersion[] = [];
  const broken = chains.gaps > 0n ? await gapsOf(sql, { first, through }, one, MOST_GAPS) : [];
  // A log that was read from some checkpoint on has what came after, and knows nothing of before.
  const isEarlier = !isGuided && first > 0n && broken.some(({ isBeginning }) => isBeginning);
  if (isEarlier) {
    notShown.push(
      `chains: ${coinType} existed before checkpoint ${first}, with which the log begins`,
    );
  }
  gaps.push(...broken.filter(({ isBeginning }) => !(isEarlier && isBeginning)));
  if (chains.unfilled > 0n) {
    notShown.push(
      `chains: input versions of ${chains.unfilled} changes are still being filled in from the source`,
    );
  }
  const treasury = await treasuryAt(sql, coinType, through);
  const ofTreasury = (what: string, from = 0n): Gap => ({ coinType, ...treasury, from, what });
  if (chains.treasuries !== 1n && !isEarlier) {
    gaps.push(ofTreasury(`${chains.treasuries} treasuries of the token were read, instead of one`));
  }
  if (closure !== undefined && closure.foreign > 0n) {
    const foreign = await foreignTo(sql, through, one, MOST_GAPS);
    const isKnown = code.versions.every(({ acceptedBy }) => acceptedBy !== null);
    for (const { what, checkpoint } of foreign) {
      // Of other code the profile says nothing.
      if (isKnown) gaps.push(ofTreasury(what, checkpoint));
      else notShown.push(`closure: ${what}`);
    }
  }
  if (chains.unequalFrom !== null && gaps.length === 0 && !isEarlier) {
    gaps.push(
      ofTreasury(
        `after checkpoint ${chains.unequalFrom} tokens and grants do not come to the treasury's supply; at the end they come to ${chains.held}, and the supply is ${chains.supply}`,
        chains.unequalFrom,
      ),
    );
  }
  for (const { address, checkpoint, cap } of code.hidden) {
    const what = `the contract was upgraded to ${address} at checkpoint ${checkpoint}, which was not read`;
    gaps.push({ coinType, ...cap, from: checkpoint, what });
  }
  for (const each of heads) {
    const others = heads.filter((other) => other !== each);
    for (const said of each.said) {
      if (said.coinType !== coinType) continue;
      // A node's word against another's: neither shows it.
      const denied = others.find((other) => other.at >= through && !isNamed(other, said.objectId));
      if (denied === undefined) gaps.push(said);
      else {
        const { objectId, version, what } = said;
        newer.push({ objectId, version, what });
        notShown.push(
          `heads: object ${objectId}, version ${version}: ${what}; ${denied.source} does not say so`,
        );
      }
    }
  }
  for (const each of [...metadata, ...heads]) {
    for (const one of each.notShown) {
      if (one.coinType === coinType && one.newer) newer.push({ ...one.newer, what: one.what });
    }
    gaps.push(...each.gaps.filter((gap) => gap.coinType === coinType));
    notShown.push(
      ...each.notShown.filter((what) => what.coinType === coinType).map(({ what }) => what),
    );
  }
  if (isGuided && heads.length === 0) {
    notShown.push(
      "heads: no node's lists to ask for the newest versions of live objects (INDEX_SOURCE)",
    );
  }
  const verdict = gaps.length > 0 ? "incomplete" : notShown.length > 0 ? "not shown" : "complete";
  return {
    ...{ coinType, verdict, chains, headsHash, gaps, notShown, newer, onFaith },
    transactions: closure?.transactions ?? 0n,
  };
};

/** Whether a node's answer about an object is not the log's. */
const isNamed = ({ gaps, said, notShown }: CheckedHeads, objectId: string): boolean =>
  [...gaps, ...said].some((gap) => gap.objectId === objectId) ||
  notShown.some(({ newer }) => newer?.objectId === objectId);

/** The coin's treasury, to name with what is wrong about the coin as a whole. */
const treasuryAt = async (
  sql: Sql,
  coinType: string,
  through: bigint,
): Promise<Pick<Gap, "objectId" | "version">> => {
  const [row] = await sql<{ object_id: string; version: string }[]>`
    select object_id, version::text from log_facts
    where coin_type = ${coinType} and kind = 1 and checkpoint <= ${through}
    order by (name = ${TREASURY}) desc, checkpoint desc, transaction desc limit 1`;
  return { objectId: row?.object_id ?? "none", version: BigInt(row?.version ?? 0) };
};

/** Checkpoints of a coin without a verified signature. */
const UNSIGNED = `
  select count(*) as count, min(checkpoint) as first from (
    select distinct checkpoint from log_coin_chain where checkpoint <= $1
  ) as read
  where not exists (
    select from (
      select last_checkpoint from log_proofs where first_checkpoint <= read.checkpoint
      order by first_checkpoint desc limit 1
    ) as proof where last_checkpoint >= read.checkpoint)`;

const onFaithOfAll = async (
  sql: Sql,
  { through, isGuided, code, heads }: Omit<Common, "onFaith" | "metadata" | "first">,
): Promise<readonly string[]> => {
  const [unsigned] = await sql.unsafe<{ count: bigint; first: bigint | null }[]>(UNSIGNED, [
    `${through}`,
  ]);
  const committees = (await allCommittees(sql)).filter(({ namedBy }) => namedBy === null);
  const onFaith = [
    "that the log has not been changed since it was read: this deployment (verify --log shows it)",
  ];
  if (unsigned !== undefined && unsigned.count > 0n) {
    onFaith.push(
      `${unsigned.count} checkpoints, from ${unsigned.first} on, which were read without the validators' signatures: the source`,
    );
  }
  for (const { epoch } of committees) {
    onFaith.push(`the committee of epoch ${epoch}: the settings, which trusted it`);
  }
  for (const { address, bytecode, acceptedBy, shownBy, checkpoint } of code.versions) {
    const who = acceptedBy === "setting" ? "the setting CONTRACT_BYTECODE" : "this program";
    onFaith.push(`that ${PROFILE} holds for package ${address} with bytecode ${bytecode}: ${who}`);
    if (shownBy !== "signature") {
      onFaith.push(
        `the code of package ${address}, published at checkpoint ${checkpoint}: the source`,
      );
    }
  }
  for (const { objectId, version, shownBy, node } of code.caps) {
    const by = shownBy === "signature" ? node : `${node} and the source`;
    onFaith.push(`that the upgrade capability ${objectId} has no version after ${version}: ${by}`);
  }
  const whole = "this deployment, which read every checkpoint";
  if (!code.isFollowed && !isGuided) onFaith.push(`that no upgrade was missed: ${whole}`);
  const words = heads.map(({ as, source, askedAt }) => `${source} (${as}), asked at ${askedAt}`);
  if (!isGuided) words.push(whole);
  onFaith.push(
    `that nothing touched a live object after its last version, up to checkpoint ${through}: ${words.join("; ")}`,
  );
  if (isGuided) {
    onFaith.push(
      "that the contract has no other token, and that no registry entry (Currency) of a token was left out: the node's lists",
    );
  }
  return onFaith;
};
