/** Heads of the live objects, as every node that is asked serves them. */
import { createHash } from "node:crypto";
import type { Sql } from "../../database/connect.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import { type CheckedHeads, liveObjects, openHeadsCheck } from "./heads.ts";
import type { WholeCheckpoints } from "./whole-checkpoints.ts";

export type ServedHeads = CheckedHeads & { readonly as: "source" | "witness" };

export type AskedNodes = {
  /** The lists of a node, and a second node's heads; null without. */
  readonly index: LedgerIndex | null;
  readonly witness: LedgerIndex | null;
  /** Before a node's answer that lags is asked for again, ms. */
  readonly againMs?: number | undefined;
  /** Live objects asked for at once. */
  readonly objectsPerRead?: number | undefined;
};

/** As `headsHash` in `client/completeness.ts`, of a coin without live objects. */
const NO_HEADS = createHash("sha256").digest("hex");

/**
 * Reads live objects once, for every node and for the hashes.
 * @param sql a connection that does nothing else meanwhile
 */
export const headsOf = async (
  sql: Sql,
  { index, witness, againMs, objectsPerRead }: AskedNodes,
  {
    coins,
    through,
    checkpoints,
  }: {
    readonly coins: readonly string[];
    readonly through: bigint;
    readonly checkpoints: WholeCheckpoints;
  },
  signal: AbortSignal,
): Promise<{
  readonly heads: readonly ServedHeads[];
  readonly hashOf: (coinType: string) => string;
}> => {
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
  const hashes = new Map([...hashing].map(([coinType, hash]) => [coinType, hash.digest("hex")]));
  return {
    heads: checks.map(({ as, check }) => ({ as, ...check.result() })),
    hashOf: (coinType) => hashes.get(coinType) ?? NO_HEADS,
  };
};
