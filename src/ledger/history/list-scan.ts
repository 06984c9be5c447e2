/** Scans of a node's lists over a range: what to ask next, and when a range is complete. */
import { lowest } from "../../values/bigints.ts";
import { type Backoff, backoffMs, pause } from "../../waiting/backoff.ts";
import { grpcCodeOf } from "../sources/grpc-calls.ts";
import { IndexStuckError } from "./history-errors.ts";
import type { ListedRange, Touch } from "./ledger-index.ts";
import type { ListAnswer, ListRequest } from "./list-request.ts";

export type ScanBounds = {
  /** Literals of a request; halved when a node refuses them. */
  readonly literals: number;
  /** Checkpoints of an answer; nodes lower it, often to 100. */
  readonly page: number;
  /** Requests in a row without any progress before the node counts as stuck. */
  readonly still: number;
  /** Requests in a row that moved the cursor and covered no further checkpoint. */
  readonly within: number;
  /** Delay after a request without progress. */
  readonly backoff: Backoff;
};

export const SCAN_BOUNDS: ScanBounds = {
  literals: 10,
  page: 500,
  still: 6,
  within: 2_000,
  backoff: { firstMs: 100, maxMs: 5_000 },
};

/** Coprime to the sizes that nodes use. */
const DIFFERENT_PAGE = 37;

/** Findings above where all scans are complete; an honest node sends few of them ahead. */
const MOST_FOUND = 100_000;

/** The scan of one request's literals. */
type Scan = {
  readonly what: readonly Touch[];
  /** First checkpoint of the requests that `after` belongs to. */
  first: bigint;
  after: Uint8Array | undefined;
  /** Every match up to it was sent. */
  covered: bigint;
  /** Requests without progress since `covered` moved. */
  still: number;
  /** Requests that moved the cursor alone, since then. */
  within: number;
  /** Whether to ask with another page size and one checkpoint further. */
  differently: boolean;
};

type Asking = {
  readonly node: string;
  /** Retries; throws SourceRefusedError for what no retry changes. */
  readonly ask: (request: ListRequest, signal: AbortSignal) => Promise<ListAnswer>;
};

/**
 * Checkpoints of the range with a transaction that touches one of `what`, ascending and each once,
 * as far as the node keeps to its own watermarks. Holds one answer a scan in memory.
 *
 * @throws IndexStuckError (retry)
 * @throws the reason of `signal`
 */
export async function* scanLists(
  { node, ask }: Asking,
  what: readonly Touch[],
  { first, last }: ListedRange,
  bounds: ScanBounds,
  signal: AbortSignal,
): AsyncGenerator<bigint, void, undefined> {
  const begin = (some: readonly Touch[], from: bigint): Scan => ({
    what: some,
    first: from,
    after: undefined,
    covered: from - 1n,
    still: 0,
    within: 0,
    differently: false,
  });
  let scans = groupsOf(what, bounds.literals).map((group) => begin(group, first));
  const found = new Set<bigint>();
  while (scans.length > 0 && first <= last) {
    signal.throwIfAborted();
    // The one that is furthest behind: the others' findings wait for it.
    const scan = scans.reduce((a, b) => (b.covered < a.covered ? b : a));
    if (scan.covered >= last) return;
    const halves = await step(scan);
    if (halves !== undefined) scans = scans.flatMap((one) => (one === scan ? halves : [one]));
    const complete = lowest(last, ...scans.map(({ covered }) => covered));
    for (const checkpoint of [...found].filter((each) => each <= complete).sort(ascending)) {
      found.delete(checkpoint);
      yield checkpoint;
    }
  }

  /** One request, and what it says. Returns scans in place of one whose filter is too long. */
  async function step(scan: Scan): Promise<readonly Scan[] | undefined> {
    const request: ListRequest = {
      what: scan.what,
      first: scan.first,
      last: scan.differently ? last + 1n : last,
      after: scan.after,
      limit: scan.differently ? DIFFERENT_PAGE : bounds.page,
    };
    let answer: ListAnswer;
    try {
      answer = await ask(request, signal);
    } catch (error) {
      if (grpcCodeOf(error) !== "INVALID_ARGUMENT") throw error;
      if (scan.after !== undefined) {
        // A cursor of another node, or of an earlier version of this one.
        restart(scan);
        return undefined;
      }
      if (scan.what.length === 1) throw error;
      const half = Math.ceil(scan.what.length / 2);
      return groupsOf(scan.what, half).map((group) => begin(group, scan.first));
    }
    for (const checkpoint of answer.found) {
      if (checkpoint >= first && checkpoint <= last) found.add(checkpoint);
    }
    const covered = lowest(answer.covered ?? scan.covered, last);
    const moved = answer.cursor !== undefined && !isSame(answer.cursor, scan.after);
    if (covered > scan.covered) {
      Object.assign(scan, { covered, still: 0, within: 0, differently: false });
    } else if (moved) scan.within += 1;
    else scan.still += 1;
    const isStuck = scan.still >= bounds.still || scan.within >= bounds.within;
    if (isStuck || found.size > MOST_FOUND) {
      throw new IndexStuckError(node, wantedOf(scan.what, { first, last }), {
        covered: scan.covered < first ? null : scan.covered,
        requests: scan.still + scan.within,
      });
    }
    if (moved) {
      scan.after = answer.cursor;
      return undefined;
    }
    restart(scan);
    if (scan.still > 1) await pause(backoffMs(scan.still - 1, bounds.backoff), signal);
    return undefined;
  }
}

/**
 * Asks without the cursor, from where the scan is complete. Behind the last match of the range a
 * node answers a cursor without any watermark; if the last page ended exactly there again, another
 * page size or one checkpoint more does not.
 */
const restart = (scan: Scan): void => {
  scan.first = scan.covered + 1n;
  scan.after = undefined;
  scan.differently = scan.still > 1;
};

const groupsOf = (what: readonly Touch[], size: number): readonly (readonly Touch[])[] =>
  Array.from({ length: Math.ceil(what.length / size) }, (_, n) =>
    what.slice(n * size, (n + 1) * size),
  );

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : 1);

const isSame = (a: Uint8Array, b: Uint8Array | undefined): boolean =>
  b !== undefined && Buffer.compare(a, b) === 0;

/** For messages. */
export const wantedOf = (what: readonly Touch[], { first, last }: ListedRange): string => {
  const [one] = what;
  const rest = what.length > 1 ? ` and ${what.length - 1} more` : "";
  return `the list of ${one?.kind ?? "nothing"} ${one?.address ?? ""}${rest} over ${first} to ${last}`;
};
