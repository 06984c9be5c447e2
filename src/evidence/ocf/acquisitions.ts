/**
 * A transaction's acquisitions, each a new security: what an account receives from another one, and
 * each grant separately.
 */
import type { Cause } from "../../projections/balance-changes.ts";
import { lowest } from "../../values/bigints.ts";
import { type Account, type Flow, keyOf } from "./flows.ts";
import { cutOf, newGrants, type Received } from "./lots.ts";
import type { LedgerStep } from "./source.ts";
import type { GrantPart } from "./vesting.ts";

export type Source = { readonly from: Account; readonly amount: bigint };

export type Acquisition = {
  /** Undefined: destroyed. */
  readonly to: Account | undefined;
  readonly amount: bigint;
  readonly cause: Cause;
  /** Empty: minted. */
  readonly sources: readonly Source[];
  /** Its part of a grant; "kept": the same part as with its previous owner. */
  readonly part: GrantPart | "kept" | undefined;
};

/** What each wallet's grants gained, in stretches. */
export const receivedBy = (
  { changes, grants }: LedgerStep,
  made: Set<string>,
): ReadonlyMap<string, Received[]> => {
  const gains = changes.filter(({ part, change }) => part === "GRANTS" && change > 0n);
  return new Map(
    gains.map(({ owner, change }) => [owner, [...newGrants(owner, change, grants, made)]]),
  );
};

/** @param received from `receivedBy`; consumed */
export const acquisitionsOf = (
  flows: readonly Flow[],
  received: ReadonlyMap<string, Received[]>,
): readonly Acquisition[] => {
  const acquired: Acquisition[] = [];
  /** Flows into a wallet's grants, made and transferred ones apart. */
  const pools = new Map<string, Flow[]>();
  for (const flow of flows) {
    const { from, to, amount, cause } = flow;
    const sources = from === undefined ? [] : [{ from, amount }];
    if (to?.part !== "GRANTS") {
      acquired.push({ to, amount, cause, sources, part: undefined });
    } else if (from?.part === "GRANTS" && cause === "UNKNOWN") {
      // A transferred grant keeps its terms.
      acquired.push({ to, amount, cause, sources, part: "kept" });
    } else {
      const key = `${keyOf(to)} ${from === undefined}`;
      pools.set(key, [...(pools.get(key) ?? []), flow]);
    }
  }
  for (const pool of pools.values()) acquired.push(...ofGrants(pool, received));
  return acquired;
};

const ofGrants = (
  flows: readonly Flow[],
  received: ReadonlyMap<string, Received[]>,
): readonly Acquisition[] => {
  const [first] = flows;
  const to = first?.to;
  if (first === undefined || to === undefined) return [];
  const open = flows.map(({ from, amount }) => ({ from, rest: amount }));
  const all = open.reduce((sum, { rest }) => sum + rest, 0n);
  return stretchesOf(all, received.get(to.wallet) ?? []).map(({ quantity, part }) => {
    const sources: Source[] = [];
    let missing = quantity;
    for (const giver of open) {
      const amount = lowest(giver.rest, missing);
      if (amount === 0n) continue;
      giver.rest -= amount;
      missing -= amount;
      if (giver.from !== undefined) sources.push({ from: giver.from, amount });
    }
    return { to, amount: quantity, cause: first.cause, sources, part };
  });
};

/** Takes an amount from the queue, split where its source changes. */
const stretchesOf = (amount: bigint, queue: Received[]): readonly Received[] => {
  const stretches: Received[] = [];
  for (let rest = amount; rest > 0n; ) {
    const [first] = queue;
    if (first === undefined) return [...stretches, { quantity: rest, part: undefined }];
    const quantity = lowest(first.quantity, rest);
    const [now, later] = cutOf(first.part, quantity, false);
    stretches.push({ quantity, part: now });
    first.quantity -= quantity;
    first.part = later;
    if (first.quantity === 0n) queue.shift();
    rest -= quantity;
  }
  return stretches;
};
