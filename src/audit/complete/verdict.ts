/** The verdict on one coin, from what the checks found. */

import type { Sql } from "../../database/connect.ts";
import { TREASURY } from "../../ledger/contract/names.ts";
import { type CoinChains, type Gap, gapsOf } from "./chains.ts";
import { type CoinClosure, foreignTo } from "./closure.ts";
import type { CheckedCode, CodeVersion } from "./code.ts";
import type { CheckedHeads } from "./heads.ts";
import type { ServedHeads } from "./served-heads.ts";

/**
 * `complete`: everything was shown. `incomplete`: something is known to be wrong: the log lacks a
 * change, or the contract was upgraded to code that no profile is known to hold for. `not shown`:
 * nothing is known to be wrong, but not everything could be shown.
 */
export type Verdict = "complete" | "incomplete" | "not shown";

export type CoinProof = {
  readonly coinType: string;
  readonly verdict: Verdict;
  readonly chains: CoinChains;
  readonly transactions: bigint;
  /** As `headsHash` in `client/completeness.ts`. */
  readonly headsHash: string;
  /** What the log lacks: the first of each kind. Then the token is withheld. */
  readonly gaps: readonly Gap[];
  /**
   * Upgrades to code that no profile is known to hold for, by their capability. The token is served:
   * nothing is known to be missing.
   */
  readonly unknownCode: readonly Gap[];
  readonly notShown: readonly string[];
  /** Of those: versions that a node says are missing, which another denies or nothing shows. */
  readonly newer: readonly OpenVersion[];
  readonly onFaith: readonly string[];
};

export type OpenVersion = Pick<Gap, "objectId" | "version" | "what">;

/** Whether a later proof up to the same checkpoint can only come to the same. */
export const isSettled = ({ verdict, unknownCode }: CoinProof): boolean =>
  verdict !== "not shown" && unknownCode.length === 0;

/** What was found about all coins. */
export type Common = {
  readonly first: bigint;
  readonly through: bigint;
  readonly isGuided: boolean;
  readonly code: CheckedCode;
  readonly heads: readonly ServedHeads[];
  readonly metadata: readonly Pick<CheckedHeads, "gaps" | "notShown">[];
  readonly onFaith: readonly string[];
};

/** What was found about one coin. */
type OfCoin = {
  readonly chains: CoinChains;
  readonly closure: CoinClosure | undefined;
  readonly headsHash: string;
};

/** Kept of each kind and coin. */
const MOST_GAPS = 10;

export const proofOfCoin = async (sql: Sql, ofCoin: OfCoin, common: Common): Promise<CoinProof> => {
  const { chains, closure, headsHash } = ofCoin;
  const { coinType } = chains;
  const { code, isGuided, heads, onFaith } = common;
  const register = await ofRegister(sql, ofCoin, common);
  const nodes = ofNodes(coinType, common);
  const gaps = [
    ...register.gaps,
    ...code.hidden.map((one) => hiddenUpgrade(coinType, one)),
    ...nodes.gaps,
  ];
  const notShown = [...code.notShown, ...register.notShown, ...nodes.notShown];
  if (isGuided && heads.length === 0) {
    notShown.push(
      "heads: no node's lists to ask for the newest versions of live objects (INDEX_SOURCE)",
    );
  }
  const unknownCode = code.unknown.map((one) => unknownUpgrade(coinType, one));
  const isWrong = gaps.length + unknownCode.length > 0;
  return {
    ...{ coinType, chains, headsHash, gaps, unknownCode, notShown, newer: nodes.newer, onFaith },
    verdict: isWrong ? "incomplete" : notShown.length > 0 ? "not shown" : "complete",
    transactions: closure?.transactions ?? 0n,
  };
};

/** Chains, closure and conservation. */
const ofRegister = async (
  sql: Sql,
  { chains, closure }: OfCoin,
  { first, through, isGuided, code }: Common,
): Promise<Pick<CoinProof, "gaps" | "notShown">> => {
  const { coinType } = chains;
  const one = [coinType];
  const notShown: string[] = [];
  const broken = chains.gaps > 0n ? await gapsOf(sql, { first, through }, one, MOST_GAPS) : [];
  // A log that was read from some checkpoint on has what came after, and knows nothing of before.
  const isEarlier = !isGuided && first > 0n && broken.some(({ isBeginning }) => isBeginning);
  if (isEarlier) {
    notShown.push(
      `chains: ${coinType} existed before checkpoint ${first}, with which the log begins`,
    );
  }
  const gaps = broken.filter(({ isBeginning }) => !(isEarlier && isBeginning));
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
  const isKnown = code.versions.every(({ acceptedBy }) => acceptedBy !== null);
  /** Of other code the profile says nothing. */
  const breach = (rule: string, what: string, checkpoint: bigint): void => {
    if (isKnown) gaps.push(ofTreasury(what, checkpoint));
    else notShown.push(`${rule}: ${what}`);
  };
  if (closure !== undefined && closure.foreign > 0n) {
    const foreign = await foreignTo(sql, through, one, MOST_GAPS);
    for (const { what, checkpoint } of foreign) breach("closure", what, checkpoint);
  }
  if (chains.unequalFrom !== null && gaps.length === 0 && !isEarlier) {
    breach(
      "conservation",
      `after checkpoint ${chains.unequalFrom} tokens and grants do not come to the treasury's supply; at the end they come to ${chains.held}, and the supply is ${chains.supply}`,
      chains.unequalFrom,
    );
  }
  return { gaps, notShown };
};

/** Metadata and heads. */
const ofNodes = (
  coinType: string,
  { through, heads, metadata }: Common,
): Pick<CoinProof, "gaps" | "notShown" | "newer"> => {
  const gaps: Gap[] = [];
  const notShown: string[] = [];
  const newer: OpenVersion[] = [];
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
    gaps.push(...each.gaps.filter((gap) => gap.coinType === coinType));
    for (const one of each.notShown) {
      if (one.coinType !== coinType) continue;
      notShown.push(one.what);
      if (one.newer) newer.push({ ...one.newer, what: one.what });
    }
  }
  return { gaps, notShown, newer };
};

const hiddenUpgrade = (
  coinType: string,
  { address, checkpoint, cap }: CheckedCode["hidden"][number],
): Gap => ({
  ...{ coinType, ...cap, from: checkpoint },
  what: `the contract was upgraded to ${address} at checkpoint ${checkpoint}, which was not read`,
});

const unknownUpgrade = (
  coinType: string,
  { address, version, checkpoint, bytecode, cap }: CodeVersion,
): Gap => ({
  ...{ coinType, ...(cap ?? { objectId: address, version }), from: checkpoint },
  what: `the contract was upgraded to ${address} at checkpoint ${checkpoint}, whose bytecode ${bytecode} no profile is known to hold for: review its code, then add the hash to CONTRACT_BYTECODE`,
});

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
    where public.log_has(0) and coin_type = ${coinType} and kind = 1 and checkpoint <= ${through}
    order by (name = ${TREASURY}) desc, checkpoint desc, transaction desc limit 1`;
  return { objectId: row?.object_id ?? "none", version: BigInt(row?.version ?? 0) };
};
