/** One search over wallets, transactions, holders, tokens, checkpoints, dates and events: `search`. */

import { findLabels } from "../labels/find.ts";
import { checkpointMark } from "../log/blocks.ts";
import { NO_COIN } from "../projections/held-coins.ts";
import { readMeta } from "../projections/meta.ts";
import { ALL, FOR_WALLETS } from "../projections/needed.ts";
import { BeforeLogError, BetweenReadError, NotYetIndexedError } from "../projections/past.ts";
import { placeOf } from "../projections/position.ts";
import {
  behind,
  coinsOfHolder,
  eventOf,
  symbolsOf,
  tokensNamed,
  walletsWith,
} from "../projections/search.ts";
import { transactionsWithin } from "../projections/transactions.ts";
import { unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import type { GraphContext } from "./context.ts";
import { badInput } from "./errors.ts";
import { coinTypeIn } from "./input.ts";
import { checkpointOf } from "./past.ts";
import { readSearch, type Sought } from "./search-text.ts";
import { holderSubject, walletSubject } from "./shown-labels.ts";

/** In the order of groups that match equally well. */
const KINDS = {
  WALLET: { description: "A wallet that ever held a token, or had a holder, a group or a role." },
  TRANSACTION: { description: "A transaction that changed the register." },
  EVENT: { description: "An event of a transaction." },
  HOLDER: { description: "A holder of one coin." },
  TOKEN: { description: "A token; with a label also its treasury, or a role of it." },
  CHECKPOINT: { description: "A checkpoint that all pipelines have committed." },
  DATE: { description: "The end of a day, a minute or a second, UTC." },
} as const;

type Kind = keyof typeof KINDS;

type Hit = {
  readonly kind: Kind;
  /** Whether all of the text names it. */
  readonly isWhole: boolean;
  readonly coinType?: string;
  readonly symbol?: string | null;
  readonly holderId?: bigint | string;
  readonly address?: string;
  readonly txDigest?: string;
  readonly eventSeq?: number;
  readonly checkpoint?: bigint | null;
  readonly timestamp?: bigint;
  /** Of the label that was found; else that of the holder or wallet is looked up. */
  readonly label?: string | null;
};

const DEFAULT_HITS = 10;
const MOST_HITS = 50;

/** Look-ups of one search. */
const SEARCH_COST = 100;

const SearchKind = builder.enumType("SearchKind", {
  description: "What a hit is.",
  values: KINDS,
});

const SearchHit = builder.objectRef<Hit>("SearchHit").implement({
  description: "Something that a text may mean. Members that its kind does not have are null.",
  fields: (t) => ({
    kind: t.field({ type: SearchKind, description: "What it is.", resolve: ({ kind }) => kind }),
    coinType: t.exposeString("coinType", {
      nullable: true,
      description: "Canonical coin type of a holder, token or event.",
    }),
    symbol: t.exposeString("symbol", { nullable: true, description: "Symbol of that coin." }),
    holderId: t.exposeString("holderId", { nullable: true, description: "Holder, decimal." }),
    address: t.exposeString("address", {
      nullable: true,
      description: "Wallet address, canonical.",
    }),
    txDigest: t.exposeString("txDigest", {
      nullable: true,
      description: "Digest of a transaction, or of an event's, base58.",
    }),
    eventId: t.string({
      nullable: true,
      description: "{txDigest}-{eventSeq} of an event.",
      resolve: ({ txDigest, eventSeq }) =>
        txDigest === undefined || eventSeq === undefined ? null : `${txDigest}-${eventSeq}`,
    }),
    checkpoint: t.exposeString("checkpoint", {
      nullable: true,
      description:
        "Checkpoint, or that of the transaction or event, decimal; of a date the last one before its end.",
    }),
    timestamp: t.exposeString("timestamp", {
      nullable: true,
      description: "Time of that checkpoint, or the date's last second, unix seconds, decimal.",
    }),
    label: t.string({
      nullable: true,
      description:
        "Label that was found, or that of the holder or wallet; for keys that see labels.",
      resolve: ({ label, coinType, holderId, address }, _args, { labels }) => {
        if (label !== undefined || !labels.sees) return label;
        if (coinType !== undefined && holderId !== undefined) {
          return labels.textOf(holderSubject(coinType, holderId));
        }
        return address === undefined ? null : labels.textOf(walletSubject(address));
      },
    }),
  }),
});

type Asked = { readonly sought: Sought; readonly limit: number; readonly context: GraphContext };

const walletHits = async ({ sought, limit, context }: Asked): Promise<readonly Hit[]> => {
  const found: Hit[] = [];
  for (const prefix of sought.wallets) {
    for (const address of await walletsWith(context.reads.ofCoin(NO_COIN), prefix, limit)) {
      found.push({ kind: "WALLET", address, isWhole: address === prefix.from });
    }
  }
  return [...new Map(found.toReversed().map((hit) => [hit.address, hit])).values()].toReversed();
};

/** Digests that are compared with the end of a shortened one. */
const MOST_COMPARED = 200;

const transactionHits = async ({ sought, limit, context }: Asked): Promise<readonly Hit[]> => {
  const { transactions } = sought;
  if (transactions === undefined) return [];
  const { from, tail } = transactions;
  const range = { from, before: behind(from), limit: tail === "" ? limit : MOST_COMPARED };
  const found = await transactionsWithin(context.reads.ofCoin(NO_COIN), range);
  return found
    .filter(({ txDigest }) => txDigest.endsWith(tail))
    .map(({ txDigest, position, timestampMs }) => ({
      kind: "TRANSACTION",
      isWhole: txDigest === from,
      txDigest,
      checkpoint: placeOf(position).checkpoint,
      timestamp: unixSeconds(timestampMs),
    }));
};

const eventHits = async ({ sought: { event }, context }: Asked): Promise<readonly Hit[]> => {
  const found = event && (await eventOf(context.reads.ofCoin(NO_COIN), event));
  if (event === undefined || found === undefined) return [];
  const { coinType, position, timestampMs } = found;
  const { checkpoint } = placeOf(position);
  const timestamp = unixSeconds(timestampMs);
  return [{ kind: "EVENT", isWhole: true, coinType, ...event, checkpoint, timestamp }];
};

const holderHits = async ({ sought, limit, context }: Asked): Promise<readonly Hit[]> => {
  const { holderId } = sought;
  if (holderId === undefined) return [];
  const coins = await coinsOfHolder(context.reads.ofCoin(NO_COIN), holderId, limit);
  return coins.map((coinType) => ({ kind: "HOLDER", isWhole: true, coinType, holderId }));
};

const tokenHits = async ({ sought, limit, context }: Asked): Promise<readonly Hit[]> => {
  const on = context.reads.ofCoin(NO_COIN);
  const { token } = sought;
  if (sought.coinType !== undefined) {
    const coinType = await context.coinType(coinTypeIn(sought.coinType, "text"));
    const found = await symbolsOf(on, [coinType]);
    return [...found.keys()].map((one) => ({ kind: "TOKEN", isWhole: true, coinType: one }));
  }
  if (token === undefined) return [];
  return (await tokensNamed(on, token, limit)).map(({ coinType, isWhole }) => ({
    kind: "TOKEN",
    isWhole,
    coinType,
  }));
};

const checkpointHits = async ({ sought, context }: Asked): Promise<readonly Hit[]> => {
  const { checkpoint } = sought;
  if (checkpoint === undefined) return [];
  const { last, firstCheckpoint } = await readMeta(context.watermarkReads);
  if (last === null || firstCheckpoint === null) return [];
  if (checkpoint > last.sequence || checkpoint < firstCheckpoint) return [];
  const mark = await checkpointMark(context.watermarkReads, checkpoint);
  const timestamp = mark === null ? {} : { timestamp: unixSeconds(mark.timestampMs) };
  return [{ kind: "CHECKPOINT", isWhole: true, checkpoint, ...timestamp }];
};

const dateHits = async ({ sought, context }: Asked): Promise<readonly Hit[]> => {
  const { endSecond } = sought;
  if (endSecond === undefined) return [];
  const { last } = await readMeta(context.watermarkReads);
  if (last === null) return [];
  const latest = unixSeconds(last.timestampMs);
  // A day that has not ended: what is known of it.
  if (endSecond >= latest) {
    return endSecond - latest > DAY_SECONDS
      ? []
      : [{ kind: "DATE", isWhole: true, checkpoint: last.sequence, timestamp: latest }];
  }
  const date = { kind: "DATE", isWhole: true, timestamp: endSecond } as const;
  try {
    const asOf = { kind: "second", unixSeconds: endSecond } as const;
    return [{ ...date, checkpoint: await checkpointOf(context.reads, asOf) }];
  } catch (error) {
    if (error instanceof BeforeLogError) return [];
    // Where only some checkpoints were read, asking for the date finds it.
    if (error instanceof BetweenReadError || error instanceof NotYetIndexedError) return [date];
    throw error;
  }
};

const DAY_SECONDS = 86_400n;

const labelHits = async ({ sought: { label }, limit, context }: Asked): Promise<readonly Hit[]> => {
  const { labels, labelKeys, watermarkReads } = context;
  if (label === undefined || !labels.sees) return [];
  const found = await findLabels(watermarkReads, labelKeys, { text: label, limit });
  return found.map(({ kind, coinType, subject, text, isWhole }) => {
    const hit = { isWhole, label: text };
    if (kind === "WALLET") return { ...hit, kind, address: subject };
    if (kind === "HOLDER") return { ...hit, kind, coinType, holderId: subject };
    return { ...hit, kind: "TOKEN", coinType };
  });
};

const nameOf = ({ kind, coinType, holderId, address, txDigest, checkpoint }: Hit): string =>
  [kind, coinType, holderId, address, txDigest, checkpoint].join(" ");

/** Groups by kind, those with a whole match first; whole matches first in each, and at most `limit`. */
const grouped = (hits: readonly Hit[], limit: number): readonly Hit[] => {
  const distinct = [...new Map(hits.toReversed().map((hit) => [nameOf(hit), hit])).values()];
  const bestFirst = distinct.toReversed().toSorted((a, b) => Number(b.isWhole) - Number(a.isWhole));
  const groups = Object.keys(KINDS).map((kind) =>
    bestFirst.filter((hit) => hit.kind === kind).slice(0, limit),
  );
  const isBest = ([first]: readonly Hit[]) => first?.isWhole === true;
  return [...groups.filter(isBest), ...groups.filter((group) => !isBest(group))].flat();
};

/** Transactions, events and dates need all pipelines, everything else no movements. */
const contextFor = (context: GraphContext, { transactions, event, endSecond }: Sought) =>
  transactions === undefined && event === undefined && endSecond === undefined
    ? context.readsOf(FOR_WALLETS)
    : context;

builder.queryField("search", (t) =>
  t.field({
    type: [SearchHit],
    nullable: true,
    description:
      "What a text may mean, as a person types or pastes it: a wallet or a transaction's digest, whole, its beginning (0x and " +
      "4 hex digits, or 6 characters) or shortened (0x4347…c55f); a holder's number (16, Holder 16); a token's coin type, or the " +
      "beginning of its symbol or name; a checkpoint; a date or time, ISO 8601 in UTC; an event's id; and for keys that see " +
      "labels, beginnings of their words, or a sealed one whole. By kind, best first; nothing is searched but indexes.",
    args: {
      text: t.arg.string({ required: true, description: "1 to 200 characters." }),
      limit: t.arg.int({
        defaultValue: DEFAULT_HITS,
        description: `Most hits of each kind, 1 to ${MOST_HITS}.`,
      }),
    },
    complexity: ({ limit }) => ({
      field: SEARCH_COST,
      multiplier: Math.min(Math.max(limit ?? DEFAULT_HITS, 1), MOST_HITS),
    }),
    reads: { pipelines: () => ALL, several: () => true },
    resolve: async (_root, { text, limit: given }, ofAll) => {
      const limit = given ?? DEFAULT_HITS;
      if (limit < 1 || limit > MOST_HITS) {
        throw badInput(`limit must be from 1 to ${MOST_HITS}; it is ${limit}`);
      }
      const sought = readSearch(text);
      const context = contextFor(ofAll, sought);
      const asked = { sought, limit, context };
      const hits = [
        ...(await labelHits(asked)),
        ...(await walletHits(asked)),
        ...(await transactionHits(asked)),
        ...(await eventHits(asked)),
        ...(await holderHits(asked)),
        ...(await tokenHits(asked)),
        ...(await checkpointHits(asked)),
        ...(await dateHits(asked)),
      ];
      const shown = grouped(hits, limit);
      const coinTypes = [...new Set(shown.flatMap(({ coinType }) => coinType ?? []))];
      const symbols = await symbolsOf(context.reads.ofCoin(NO_COIN), coinTypes);
      return shown.map((hit) => ({ ...hit, symbol: symbols.get(hit.coinType ?? "") ?? null }));
    },
  }),
);
