/**
 * The `SharedToken` objects, the token part of their owners' balances, and how both came to be.
 *
 * Facts in:  SharedToken and Timelock objects, treasuries, metadata; the events that move tokens
 * Rows out:  shared_token_objects, keyed by object and coin type, and shared_token_ranges; folded into balances;
 *            token_changes, keyed by (coin type, owner, transaction); tokens and token_supplies
 */

import type { Sql } from "../database/connect.ts";
import { columnNames } from "../database/table-rows.ts";
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
import { tokenProgress } from "../projections/balance-progress.ts";
import { clearBalances } from "../projections/balances.ts";
import { checkpointLines, LINES, placedLines, stateLines } from "../projections/digest-lines.ts";
import { objectKey } from "../projections/live-objects.ts";
import {
  currentTokens,
  foldSharedTokens,
  type SharedTokenState,
  sharedTokenObjectsTable,
  sharedTokenRangesTable,
  type TokenRows,
} from "../projections/shared-token-objects.ts";
import { timelockObjectsTable, timelockRangesTable } from "../projections/timelock-objects.ts";
import {
  currentGrants,
  type SeenGrant,
  type TokenNews,
  tokenGrantsTable,
  tokenSuppliesTable,
  tokensTable,
} from "../projections/tokens.ts";
import { type GrantAmounts, grantMovement, Movements, transactionsOf } from "./movements.ts";
import {
  type BatchStates,
  batchStates,
  ObjectStates,
  objectIn,
  objectsIn,
  sharedBalances,
  statesOf,
} from "./object-states.ts";
import type { Pipeline } from "./pipeline.ts";
import { derived, events, perCheckpoint, states, statesBefore } from "./stored-tables.ts";
import { coinTypeOf, contentsOf } from "./undecodable-fact.ts";

const { name: NAME } = tokenProgress;

type Before = BatchStates<SharedTokenState> & {
  readonly tokens: Map<string, SharedTokenState>;
  readonly grants: Map<string, GrantAmounts>;
};

const stateOf = (fact: ObjectFact): SharedTokenState => {
  const { owner, balance } = contentsOf(NAME, fact, decodeSharedToken);
  const { version, checkpoint } = fact;
  return { coinType: coinTypeOf(NAME, fact), owner, balance, version, checkpoint };
};

type TokenEvent = { readonly from?: string; readonly to?: string; readonly amount: bigint };

/** What an event says of its tokens; a mint has no sender, a burn no recipient. */
const EVENTS: Readonly<
  Record<string, { cause: Cause; decode: (contents: Uint8Array) => TokenEvent }>
> = {
  [MINT]: { cause: "MINT", decode: decodeMint },
  [BURN]: { cause: "BURN", decode: decodeBurn },
  [TRANSFER]: { cause: "TRANSFER", decode: decodeTransfer },
  [FORCE_TRANSFER]: { cause: "FORCE_TRANSFER", decode: decodeForceTransfer },
};

const METADATA = { [COIN_METADATA]: decodeMetadataNames, [CURRENCY]: decodeCurrencyNames } as const;
const isMetadata = (name: string): name is keyof typeof METADATA => name in METADATA;

const readBefore = async (sql: Sql, facts: readonly Fact[]): Promise<Before> => {
  const of = (kind: string) => facts.filter(({ name }) => name === kind);
  const named = of(SHARED_TOKEN);
  const [tokens, grants] = await Promise.all([
    currentTokens(sql, objectsIn(NAME, named)),
    currentGrants(sql, objectsIn(NAME, of(TIMELOCK))),
  ]);
  return { tokens, grants, ...(await batchStates(sql, "token", tokens, named, stateOf)) };
};

const rowsOf = (
  facts: readonly Fact[],
  { tokens, decoded, grants, balances }: Before,
): TokenRows => {
  const objects = new ObjectStates(NAME, tokens, (fact) => decoded.get(fact) ?? stateOf(fact));
  const seenGrants = new Map<string, SeenGrant>();
  const changes: BalanceChangeRow[] = [];
  for (const transaction of transactionsOf(facts)) {
    const movements = new Movements();
    for (const fact of transaction) {
      if (fact.kind === "event") explainEvent(movements, fact);
      else if (fact.name === TIMELOCK) {
        const grant = objectIn(NAME, fact);
        const key = objectKey(grant);
        const after = explainGrant(movements, fact, grants.get(key));
        if (after === undefined) grants.delete(key);
        else grants.set(key, after);
        seenGrants.set(key, { ...grant, ...after });
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
    grants: [...seenGrants.values()],
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

/** Keeps the tokens of every coin, present and past. */
export const sharedTokenObjectsPipeline: Pipeline<TokenRows, Before> = {
  ...tokenProgress,
  queries: ["tokenBalance", "tokenObjects", "tokenHolders"],
  facts: [SHARED_TOKEN, TIMELOCK, TREASURY, COIN_METADATA, CURRENCY, ...Object.keys(EVENTS)],
  factsWithLines: [SHARED_TOKEN, TREASURY],
  tables: [
    ...states(LINES.token, sharedTokenObjectsTable, sharedTokenRangesTable, { endedSince: 2 }),
    events(LINES.change, tokenChangesTable, { since: 2 }),
    derived(tokenGrantsTable, {
      since: 2,
      before: statesBefore(
        columnNames(tokenGrantsTable),
        timelockObjectsTable,
        timelockRangesTable,
      ),
    }),
    derived(tokensTable, { since: 2 }),
    perCheckpoint(LINES.supply, tokenSuppliesTable, { since: 2 }),
  ],
  sharedTables: [sharedBalances],
  readBefore,
  rows: rowsOf,
  write: foldSharedTokens,
  lines: ({ objects, ended, changes, tokens }, { first, last }) => [
    ...stateLines(LINES.token, first, last, statesOf(objects, ended)),
    ...placedLines(LINES.change, changes),
    ...checkpointLines(LINES.supply, tokens.supplies),
  ],
  reset: (tx) => clearBalances(tx, "token"),
};
