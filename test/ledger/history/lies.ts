import { GrpcTypes } from "@mysten/sui/grpc";
import type { ObjectHead } from "../../../src/ledger/history/ledger-index.ts";
import type { Frame } from "./list-scan.ts";
import type { ListedLedger, Place } from "./listed-ledger.ts";

/** How a server departs from its ledger. */
export type Lies = {
  /** Transactions that its lists leave out, by digest. */
  readonly unlisted: ReadonlySet<string>;
  /** Transactions that it does not know by digest. */
  readonly unknown: ReadonlySet<string>;
  /** Checkpoints that it does not serve. */
  readonly withheld: ReadonlySet<bigint>;
  /** Newest versions other than the ledger's; undefined: no such live object. */
  readonly heads: ReadonlyMap<string, ObjectHead | undefined>;
  /** Transactions that its lists name for every filter. */
  readonly alsoListed: readonly Place[];
  /** Changes an answer's frames; `"broken"` breaks the stream there, `"silent"` leaves it open. */
  readonly frames: (frames: Iterable<Frame>) => Iterable<Frame | "broken" | "silent">;
};

export const HONEST: Lies = {
  unlisted: new Set(),
  unknown: new Set(),
  withheld: new Set(),
  heads: new Map(),
  alsoListed: [],
  frames: (frames) => frames,
};

/** The ledger as a lying server's lists and look-ups show it. */
export const lyingLedger = (ledger: ListedLedger, lies: Lies): ListedLedger => ({
  ...ledger,
  newest: () => ledger.newest(),
  listed: (key) => {
    const places = ledger.listed(key).filter(({ digest }) => !lies.unlisted.has(digest));
    return lies.alsoListed.length === 0 ? places : [...places, ...lies.alsoListed];
  },
  placeOf: (digest) => (lies.unknown.has(digest) ? undefined : ledger.placeOf(digest)),
  headOf: (id) => (lies.heads.has(id) ? lies.heads.get(id) : ledger.headOf(id)),
});

const { QueryEndReason } = GrpcTypes;

/** Sends the items of an answer backwards; the last one carries the end as before. */
export function* reordered(frames: Iterable<Frame>): Generator<Frame> {
  const all = [...frames];
  const items = all.flatMap(({ item }) => (item === undefined ? [] : [item])).reverse();
  for (const frame of all) {
    const item = frame.item === undefined ? undefined : items.shift();
    yield item === undefined ? frame : { ...frame, item };
  }
}

/** Sends every item three times. */
export function* repeated(frames: Iterable<Frame>): Generator<Frame> {
  for (const frame of frames) {
    const { end: _, ...again } = frame;
    if (frame.item !== undefined) yield* [again, again];
    yield frame;
  }
}

/** Ends answers after `count` frames with the given reason, or without one, claiming no more than it scanned. */
export const endingEarly = (count: number, reason: GrpcTypes.QueryEndReason | undefined) =>
  function* (frames: Iterable<Frame>): Generator<Frame> {
    let sent = 0;
    for (const frame of frames) {
      sent += 1;
      if (sent < count || frame.end !== undefined) {
        yield frame;
        continue;
      }
      yield reason === undefined ? frame : { ...frame, end: reason };
      return;
    }
  };

/** Says that the ledger ends here, in the first frame. */
export const atTip = endingEarly(1, QueryEndReason.LEDGER_TIP);

/** Breaks every n-th answer's stream after its first item. */
export const breakingEvery = (nth: number) => {
  let answers = 0;
  return function* (frames: Iterable<Frame>): Generator<Frame | "broken"> {
    answers += 1;
    for (const frame of frames) {
      const { end: _, ...open } = frame;
      if (answers % nth !== 0) yield frame;
      else {
        yield open;
        yield "broken";
        return;
      }
    }
  };
};

/** Sends `count` items of an answer, and then that the whole range is covered. */
export const coveringFalsely = (count: number) =>
  function* (frames: Iterable<Frame>): Generator<Frame> {
    let sent = 0;
    for (const frame of frames) {
      if (frame.item !== undefined) sent += 1;
      if (frame.item === undefined || sent <= count) {
        const { end: _, ...open } = frame;
        yield frame.item === undefined ? frame : open;
      } else if (frame.end !== undefined) {
        const { item: _, ...rest } = frame;
        yield rest;
      }
    }
  };
