import { GrpcTypes } from "@mysten/sui/grpc";
import { canonicalAddress } from "../../../src/values/move-type.ts";
import type { ListedLedger, Place } from "./listed-ledger.ts";

/** Bounds of a server. It lowers what exceeds them without a word, except literals. */
export type ListLimits = {
  /** Literals of a filter; more are refused. */
  readonly literals: number;
  /** Objects of a batch; more are refused. Archive nodes take 50, full nodes 1,000. */
  readonly objects: number;
  /** Items of an answer: by default, and at most. */
  readonly items: { readonly checkpoints: number; readonly transactions: number };
  /** Checkpoints of a bucket of the index, and buckets that an answer scans. */
  readonly bucket: bigint;
  readonly buckets: number;
  /** Frames without an item: one after so many buckets. */
  readonly progressEvery: number;
  /** First checkpoint of the lists. */
  readonly floor: bigint;
  /** Newest checkpoint of the lists; the ledger's by default. */
  readonly newest?: bigint | undefined;
};

export const LIMITS: ListLimits = {
  literals: 10,
  objects: 50,
  items: { checkpoints: 100, transactions: 500 },
  bucket: 100_000n,
  buckets: 1_000,
  progressEvery: 16,
  floor: 0n,
};

/** Items are checkpoints, or transactions. */
export type Lane = "checkpoints" | "transactions";

export type ListRequest = Pick<
  GrpcTypes.ListTransactionsRequest,
  "startCheckpoint" | "endCheckpoint" | "filter" | "options"
>;

/** A frame of an answer; the item as its place. */
export type Frame = {
  readonly item?: Place;
  readonly cursor: Uint8Array;
  /** `Watermark.checkpoint` */
  readonly covered?: bigint | undefined;
  readonly end?: GrpcTypes.QueryEndReason;
};

/** The request is refused. */
export class ListRefusal extends Error {
  override readonly name = "ListRefusal";
  readonly code: "INVALID_ARGUMENT" | "OUT_OF_RANGE";

  constructor(code: ListRefusal["code"], message: string) {
    super(message);
    this.code = code;
  }
}

const { QueryEndReason } = GrpcTypes;

/**
 * Answers a list request as the network's nodes do; with a filter in ascending order only.
 * @throws ListRefusal
 */
export function* scanList(
  ledger: ListedLedger,
  lane: Lane,
  request: ListRequest,
  limits: ListLimits,
): Generator<Frame> {
  const { startCheckpoint, endCheckpoint, filter, options } = request;
  if (filter === undefined) {
    yield* unfiltered(ledger, lane, request, limits);
    return;
  }
  if (options?.ordering === GrpcTypes.Ordering.DESCENDING || options?.before !== undefined) {
    throw new ListRefusal("INVALID_ARGUMENT", "this server lists in ascending order");
  }
  const after = options?.after === undefined ? undefined : readCursor(lane, options.after);
  const tip = (limits.newest ?? ledger.newest()) + 1n;
  if (endCheckpoint !== undefined && endCheckpoint < (startCheckpoint ?? 0n)) {
    throw new ListRefusal("INVALID_ARGUMENT", "end_checkpoint is below start_checkpoint");
  }
  const isOpen = startCheckpoint === undefined && after === undefined;
  const wanted = largest(startCheckpoint ?? 0n, after?.checkpoint ?? 0n);
  if (wanted < limits.floor && !isOpen) {
    throw new ListRefusal("OUT_OF_RANGE", `checkpoint ${wanted} is below ${limits.floor}`);
  }
  const start = largest(wanted, limits.floor);
  const isTip = endCheckpoint === undefined || endCheckpoint > tip;
  const end = isTip ? tip : endCheckpoint;
  const exhausted = isTip ? QueryEndReason.LEDGER_TIP : QueryEndReason.CHECKPOINT_BOUND;
  const matching = matchesOf(ledger, filter, limits).filter(
    (place) => place.checkpoint >= start && place.checkpoint < end && isBehind(place, after),
  );
  const items = lane === "transactions" ? matching : oncePerCheckpoint(matching);
  if (start >= end) {
    yield { cursor: after?.bytes ?? cursorAt(lane, end), end: exhausted };
    return;
  }
  if (after?.isItem && after.checkpoint === end - 1n && items.length === 0) {
    yield { cursor: after.bytes, end: QueryEndReason.CURSOR_BOUND };
    return;
  }

  const most = limits.items[lane];
  const limit = Math.max(1, Math.min(options?.limit ?? most, most));
  let sent = 0;
  for (let scanned = 0, from = start; from < end; scanned += 1) {
    if (scanned >= limits.buckets) {
      const covered = from > start ? from - 1n : undefined;
      yield { cursor: cursorAt(lane, from), covered, end: QueryEndReason.SCAN_LIMIT };
      return;
    }
    const to = smallest((from / limits.bucket + 1n) * limits.bucket, end);
    while (sent < items.length) {
      const item = items[sent];
      if (item === undefined || item.checkpoint >= to) break;
      sent += 1;
      const whole = lane === "checkpoints" ? item.checkpoint : item.checkpoint - 1n;
      const frame = {
        item,
        cursor: cursorAt(lane, item.checkpoint, item.index),
        covered: whole >= start ? whole : undefined,
      };
      if (sent < limit) {
        yield frame;
        continue;
      }
      yield { ...frame, end: QueryEndReason.ITEM_LIMIT };
      return;
    }
    from = to;
    if (from < end && scanned % limits.progressEvery === limits.progressEvery - 1) {
      yield { cursor: cursorAt(lane, from), covered: from - 1n };
    }
  }
  yield { cursor: cursorAt(lane, end), covered: end - 1n, end: exhausted };
}

/** Every checkpoint of the range, in either order: answers of checkpoints without a cursor alone. */
function* unfiltered(
  ledger: ListedLedger,
  lane: Lane,
  { startCheckpoint, endCheckpoint, options }: ListRequest,
  limits: ListLimits,
): Generator<Frame> {
  if (lane !== "checkpoints" || options?.after !== undefined || options?.before !== undefined) {
    throw new ListRefusal("INVALID_ARGUMENT", "this server lists all checkpoints in one answer");
  }
  if (startCheckpoint !== undefined && startCheckpoint < limits.floor) {
    throw new ListRefusal("OUT_OF_RANGE", `checkpoint ${startCheckpoint} is below ${limits.floor}`);
  }
  const tip = limits.newest ?? ledger.newest();
  const first = startCheckpoint ?? limits.floor;
  const last = smallest((endCheckpoint ?? tip + 1n) - 1n, tip);
  const isDescending = options?.ordering === GrpcTypes.Ordering.DESCENDING;
  const most = limits.items.checkpoints;
  const limit = BigInt(Math.max(1, Math.min(options?.limit ?? most, most)));
  for (let sent = 0n; sent <= last - first; sent += 1n) {
    const checkpoint = isDescending ? last - sent : first + sent;
    const frame = {
      item: { checkpoint, index: 0, digest: "" },
      cursor: cursorAt(lane, checkpoint, 0),
      covered: checkpoint,
    };
    if (sent + 1n === limit) {
      yield { ...frame, end: QueryEndReason.ITEM_LIMIT };
      return;
    }
    yield frame;
  }
  const end = isDescending ? QueryEndReason.CHECKPOINT_BOUND : QueryEndReason.LEDGER_TIP;
  yield { cursor: cursorAt(lane, isDescending ? first : last + 1n), end };
}

const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const smallest = (a: bigint, b: bigint): bigint => (a < b ? a : b);

type Cursor = {
  readonly checkpoint: bigint;
  /** Index in its checkpoint; undefined in front of the checkpoint. */
  readonly index: number | undefined;
  readonly isItem: boolean;
  readonly bytes: Uint8Array;
};

const cursorAt = (lane: Lane, checkpoint: bigint, index?: number): Uint8Array =>
  Buffer.from([lane, checkpoint, ...(index === undefined ? [] : [index])].join(" "));

const readCursor = (lane: Lane, bytes: Uint8Array): Cursor => {
  const [of, checkpoint, index] = Buffer.from(bytes).toString().split(" ");
  if (of !== lane || checkpoint === undefined || !/^\d+$/.test(checkpoint)) {
    throw new ListRefusal("INVALID_ARGUMENT", "options.after is no cursor of this list");
  }
  return {
    checkpoint: BigInt(checkpoint),
    index: index === undefined || lane === "checkpoints" ? undefined : Number(index),
    isItem: index !== undefined,
    bytes,
  };
};

const isBehind = (place: Place, after: Cursor | undefined): boolean => {
  if (after === undefined || place.checkpoint > after.checkpoint) return true;
  if (place.checkpoint < after.checkpoint) return false;
  return after.index === undefined ? !after.isItem : place.index > after.index;
};

const oncePerCheckpoint = (places: readonly Place[]): readonly Place[] =>
  places.filter((place, n) => places[n - 1]?.checkpoint !== place.checkpoint);

/** Transactions that fit the filter, in ledger order. */
const matchesOf = (
  ledger: ListedLedger,
  filter: GrpcTypes.TransactionFilter | undefined,
  { literals }: ListLimits,
): readonly Place[] => {
  const terms = filter?.terms ?? [];
  if (terms.length === 0) throw new ListRefusal("INVALID_ARGUMENT", "filter.terms is empty");
  const count = terms.reduce((sum, term) => sum + term.literals.length, 0);
  if (count > literals) {
    throw new ListRefusal("INVALID_ARGUMENT", `${count} literals; at most ${literals} are taken`);
  }
  const matches = new Map<string, Place>();
  for (const term of terms) {
    const [first, ...further] = term.literals.toSorted(
      (a, b) => Number(a.negated) - Number(b.negated),
    );
    if (first === undefined || first.negated) {
      throw new ListRefusal("INVALID_ARGUMENT", "a term needs a literal that is not negated");
    }
    const others = further.map(({ negated, predicate }) => ({
      negated,
      digests: new Set(ledger.listed(keyOf(predicate)).map(({ digest }) => digest)),
    }));
    for (const place of ledger.listed(keyOf(first.predicate))) {
      if (others.every(({ negated, digests }) => digests.has(place.digest) !== negated)) {
        matches.set(place.digest, place);
      }
    }
  }
  return [...matches.values()].sort((a, b) =>
    a.checkpoint === b.checkpoint ? a.index - b.index : a.checkpoint < b.checkpoint ? -1 : 1,
  );
};

const keyOf = (predicate: GrpcTypes.TransactionLiteral["predicate"]): string => {
  switch (predicate.oneofKind) {
    case "sender":
      return `sender ${canonicalAddress(predicate.sender.address ?? "")}`;
    case "affectedObject":
      return `object ${canonicalAddress(predicate.affectedObject.objectId ?? "")}`;
    case "moveCall":
      return `call ${path(predicate.moveCall.function)}`;
    case "emitModule":
      return `emit ${path(predicate.emitModule.module)}`;
    case "eventType":
      return `event ${path(predicate.eventType.eventType)}`;
    case "packageWrite":
      return "package-write";
    default:
      throw new ListRefusal("INVALID_ARGUMENT", `${predicate.oneofKind} is not listed here`);
  }
};

/** With a canonical address in front. */
const path = (text = ""): string => {
  const [address = "", ...rest] = text.split("::");
  return [canonicalAddress(address), ...rest].join("::");
};
