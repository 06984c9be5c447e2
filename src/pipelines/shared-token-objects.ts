/**
 * The `SharedToken` objects, the token part of their owners' balances, and how both came to be.
 *
 * Facts in:  SharedToken and Timelock objects, treasuries, metadata; the events that move tokens
 * Rows out:  shared_token_objects, keyed by object, and shared_token_ranges; folded into balances;
 *            token_changes, keyed by (coin type, owner, transaction); tokens and token_supplies
 */
import {
  decodeBurn,
  decodeForceTransfer,
  decodeMint,
  decodeTransfer,
} from "../ledger/contract/events.ts";
import {
  BURN,
  COIN_METADATA,
  CURRENCY,
  FORCE_TRANSFER,
  MINT,
  SHARED_TOKEN,
  TIMELOCK,
  TRANSFER,
  TREASURY,
} from "../ledger/contract/names.ts";
import {
  decodeCurrencyNames,
  decodeMetadataNames,
  decodeSharedToken,
  decodeTimelock,
  decodeTreasury,
} from "../ledger/contract/objects.ts";
import type { EventFact, Fact, ObjectFact } from "../log/fact.ts";
import {
  type BalanceChangeRow,
  type Cause,
  tokenChangesTable,
} from "../projections/balance-changes.ts";
import { clearBalances } from "../projections/balances.ts";
import { checkpointLines, LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import { sharedTokenObjectsDigests } from "../projections/digests.ts";
import {
  foldSharedTokens,
  foldSharedTokensAtOnce,
  type SharedTokenState,
  sharedTokenObjectsTable,
  sharedTokenRangesTable,
  standingTokens,
  type TokenRows,
} from "../projections/shared-token-objects.ts";
import {
  standingGrants,
  type TokenNews,
  tokenGrantsTable,
  tokenSuppliesTable,
  tokensTable,
} from "../projections/tokens.ts";
import { sharedTokenObjectsWatermark } from "../projections/watermarks.ts";
import { type GrantAmounts, grantMovement, Movements, transactionsOf } from "./movements.ts";
import { ObjectStates, type SaidAndHeld, saidAndHeld, statesOf } from "./object-states.ts";
import { LAYOUT, type StatefulPipeline } from "./pipeline.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

const NAME = "shared_token_objects";

type Standing = SaidAndHeld<SharedTokenState> & {
  readonly tokens: Map<string, SharedTokenState>;
  readonly grants: Map<string, GrantAmounts>;
};

const stateOf = (fact: ObjectFact): SharedTokenState => {
  const { owner, balance } = contentsOf(NAME, fact, decodeSharedToken);
  const { version, checkpoint } = fact;
  return { coinType: coinTypeOf(NAME, fact), owner, balance, version, checkpoint };
};

type Said = { readonly from?: string; readonly to?: string; readonly amount: bigint };

/** What an event says of its tokens; a mint has no sender, a burn no recipient. */
const EVENTS: Readonly<Record<string, { cause: Cause; decode: (contents: Uint8Array) => Said }>> = {
  [MINT]: { cause: "MINT", decode: decodeMint },
  [BURN]: { cause: "BURN", decode: decodeBurn },
  [TRANSFER]: { cause: "TRANSFER", decode: decodeTransfer },
  [FORCE_TRANSFER]: { cause: "FORCE_TRANSFER", decode: decodeForceTransfer },
};

const METADATA = { [COIN_METADATA]: decodeMetadataNames, [CURRENCY]: decodeCurrencyNames } as const;
const isMetadata = (name: string): name is keyof typeof METADATA => name in METADATA;

const readStanding: StatefulPipeline<TokenRows, Standing>["standing"] = async (sql, facts) => {
  const idsOf = (name: string) => [
    ...new Set(
      facts.flatMap((fact) => (fact.kind !== "event" && fact.name === name ? [fact.objectId] : [])),
    ),
  ];
  const [tokens, grants] = await Promise.all([
    standingTokens(sql, idsOf(SHARED_TOKEN)),
    standingGrants(sql, idsOf(TIMELOCK)),
  ]);
  const named = facts.filter(({ name }) => name === SHARED_TOKEN);
  return { tokens, grants, ...(await saidAndHeld(sql, "token", tokens, named, stateOf)) };
};

const rowsOf = (
  facts: readonly Fact[],
  { tokens, said, grants, balances }: Standing,
): TokenRows => {
  const objects = new ObjectStates(tokens, (fact) => said.get(fact) ?? stateOf(fact));
  const seenGrants = new Map<string, GrantAmounts | undefined>();
  const changes: BalanceChangeRow[] = [];
  for (const transaction of transactionsOf(facts)) {
    const movements = new Movements();
    for (const fact of transaction) {
      if (fact.kind === "event") explainEvent(movements, fact);
      else if (fact.name === TIMELOCK) {
        const after = explainGrant(movements, fact, grants.get(fact.objectId));
        if (after === undefined) grants.delete(fact.objectId);
        else grants.set(fact.objectId, after);
        seenGrants.set(fact.objectId, after);
      } else if (fact.name === SHARED_TOKEN) {
        const { before, after } = objects.step(fact);
        if (before) movements.held(before.coinType, before.owner, -before.balance);
        if (after) movements.held(after.coinType, after.owner, after.balance);
      }
    }
    changes.push(...movements.rows(transaction[0], balances));
  }
  const { changes: live, ended } = objects;
  return {
    objects: live,
    ended,
    changes,
    grants: [...seenGrants].map(([objectId, amounts]) => ({ objectId, ...amounts })),
    tokens: newsOf(facts),
  };
};

const explainEvent = (movements: Movements, fact: EventFact): void => {
  const known = EVENTS[fact.name];
  if (known === undefined) return;
  const { from, to, amount } = contentsOf(NAME, fact, known.decode);
  const coinType = coinTypeOf(NAME, fact);
  if (from !== undefined) movements.because(coinType, from, known.cause, -amount);
  if (to !== undefined) movements.because(coinType, to, known.cause, amount);
};

/** Tokens that went into a grant, or came out of it; returns how the grant stands then. */
const explainGrant = (
  movements: Movements,
  fact: Exclude<Fact, EventFact>,
  before: GrantAmounts | undefined,
): GrantAmounts | undefined => {
  if (fact.kind === "removal") {
    movements.cancelled(coinTypeOf(NAME, fact), grantMovement(before, undefined).cancelled);
    return undefined;
  }
  const coinType = coinTypeOf(NAME, fact);
  const { owner, funder, leftBalance, tokensTransferred } = contentsOf(NAME, fact, decodeTimelock);
  const after = { leftBalance, tokensTransferred };
  const { funded, claimed, cancelled } = grantMovement(before, after);
  if (funded > 0n) movements.because(coinType, funder, "GRANT_FUNDED", -funded);
  if (claimed > 0n) movements.because(coinType, owner, "GRANT_CLAIMED", claimed);
  movements.cancelled(coinType, cancelled);
  return after;
};

/** Longer names are cut; a name that Postgres cannot keep is kept without what it refuses. */
const LONGEST_NAME = 256;
const kept = (text: string): string => text.slice(0, LONGEST_NAME).replaceAll("\0", "\ufffd");

const newsOf = (facts: readonly Fact[]): TokenNews => {
  const seen = new Map<string, bigint>();
  const named = new Map<string, { readonly symbol: string; readonly name: string }>();
  const supplies = new Map<string, TokenNews["supplies"][number]>();
  for (const fact of facts) {
    const { coinType, checkpoint, name } = fact;
    if (coinType === null) continue;
    if (isMetadata(name)) {
      if (fact.kind !== "object") continue;
      const metadata = contentsOf(NAME, fact, METADATA[name]);
      named.set(coinType, { symbol: kept(metadata.symbol), name: kept(metadata.name) });
      continue;
    }
    if (!seen.has(coinType)) seen.set(coinType, checkpoint);
    if (name === TREASURY && fact.kind === "object") {
      const { totalSupply: supply } = contentsOf(NAME, fact, decodeTreasury);
      supplies.set(`${coinType} ${checkpoint}`, { coinType, checkpoint, supply });
    }
  }
  return {
    seen: [...seen].map(([coinType, firstCheckpoint]) => ({ coinType, firstCheckpoint })),
    named: [...named].map(([coinType, metadata]) => ({ coinType, ...metadata })),
    supplies: [...supplies.values()],
  };
};

/** Tables that came with the past. */
const ADDED = [
  sharedTokenRangesTable,
  tokenChangesTable,
  tokenGrantsTable,
  tokensTable,
  tokenSuppliesTable,
];

/** Keeps the tokens of every coin, as they stand and as they stood. */
export const sharedTokenObjectsPipeline: StatefulPipeline<TokenRows, Standing> = {
  name: NAME,
  facts: [SHARED_TOKEN, TIMELOCK, TREASURY, COIN_METADATA, CURRENCY, ...Object.keys(EVENTS)],
  watermark: sharedTokenObjectsWatermark,
  layout: LAYOUT,
  tables: [sharedTokenObjectsTable, ...ADDED],
  added: ADDED,
  digested: {
    table: sharedTokenObjectsDigests,
    lines: ({ objects, ended, changes, tokens }, { first, last }) => [
      ...stateLines(LINES.token, first, last, statesOf(objects, ended)),
      ...placedLines(LINES.change, changes),
      ...checkpointLines(LINES.supply, tokens.supplies),
    ],
  },
  standing: readStanding,
  rows: rowsOf,
  count: ({ objects, ended, changes, grants, tokens }) =>
    objects.length +
    ended.length +
    changes.length +
    grants.length +
    tokens.seen.length +
    tokens.named.length +
    tokens.supplies.length,
  write: foldSharedTokens,
  writeAtOnce: foldSharedTokensAtOnce,
  reset: (tx) => clearBalances(tx, "token"),
};
