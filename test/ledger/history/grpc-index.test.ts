import { status } from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import { expect, test } from "vitest";
import { type GrpcIndexOptions, grpcIndex } from "../../../src/ledger/history/grpc-index.ts";
import {
  BelowIndexError,
  HistoryIndexMissingError,
  IndexStuckError,
} from "../../../src/ledger/history/history-errors.ts";
import type { ListedRange, Touch } from "../../../src/ledger/history/ledger-index.ts";
import { SCAN_BOUNDS } from "../../../src/ledger/history/list-scan.ts";
import { SourceUnavailableError } from "../../../src/ledger/sources/source-errors.ts";
import {
  atTip,
  breakingEvery,
  endingEarly,
  HONEST,
  type Lies,
  reordered,
  repeated,
} from "./lies.ts";
import { type Frame, LIMITS, type ListLimits } from "./list-scan.ts";
import { type ListState, startListServer } from "./list-server.ts";
import { listedDemo } from "./listed-demo.ts";

const COUNT = 400;
const ledger = listedDemo({ seed: "lists", epochLength: 100 }, COUNT);
const { demo } = ledger;
const [original = ""] = demo.packages;
const treasuries = demo.coinTypes.map(({ treasuryId }) => treasuryId);
const ALL: ListedRange = { first: 0n, last: BigInt(COUNT) - 1n };

const opened = async (lists: Partial<ListState> = {}, options: Partial<GrpcIndexOptions> = {}) => {
  const server = await startListServer(ledger, lists);
  const index = grpcIndex({
    host: server.host,
    tls: false,
    retry: { attempts: 3, damagedAttempts: 3, backoff: { firstMs: 1, maxMs: 5 } },
    scan: { ...SCAN_BOUNDS, backoff: { firstMs: 1, maxMs: 5 } },
    ...options,
  });
  return {
    server,
    index,
    [Symbol.asyncDispose]: async () => {
      await index.close();
      await server[Symbol.asyncDispose]();
    },
  };
};

const never = new AbortController().signal;

const CONTRACT: readonly Touch[] = [
  { kind: "events", address: original },
  { kind: "calls", address: original },
  ...treasuries.map((address): Touch => ({ kind: "object", address })),
];

const KEYS = { events: "event", calls: "call", object: "object" } as const;

const unknownObjects = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `0x${(n + 0xdead0000).toString(16).padStart(64, "e")}`);

/** What the ledger's own listing says. */
const expected = (what: readonly Touch[], { first, last }: ListedRange): readonly bigint[] =>
  [
    ...new Set(
      what.flatMap(({ kind, address }) =>
        ledger.listed(`${KEYS[kind]} ${address}`).map(({ checkpoint }) => checkpoint),
      ),
    ),
  ]
    .filter((checkpoint) => checkpoint >= first && checkpoint <= last)
    .sort((a, b) => Number(a - b));

type Opened = Awaited<ReturnType<typeof opened>>;

const taken = async (
  { index }: Opened,
  what: readonly Touch[] = CONTRACT,
  range: ListedRange = ALL,
): Promise<readonly bigint[]> => {
  const found: bigint[] = [];
  for await (const checkpoint of index.touching(what, range, never)) found.push(checkpoint);
  return found;
};

const limited = (limits: Partial<ListLimits>): Partial<ListState> => ({
  limits: { ...LIMITS, ...limits },
});

const lying = (lies: Partial<Lies>): Partial<ListState> => ({ lies: { ...HONEST, ...lies } });

test("a range's checkpoints that touch the contract come once each, in order, and no others", async () => {
  await using node = await opened();
  const range = { first: 100n, last: 299n };

  const found = await taken(node, CONTRACT, range);

  expect(found).toEqual(expected(CONTRACT, range));
  expect(found.length).toBeGreaterThan(20);
  expect(node.server.listed.requests).toBe(Math.ceil(CONTRACT.length / 10));
});

test("small pages and scans that end early are resumed until the range is covered", async () => {
  await using node = await opened(
    limited({ items: { checkpoints: 3, transactions: 3 }, bucket: 7n, buckets: 2 }),
  );

  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
  expect(node.server.listed.requests).toBeGreaterThan(50);
});

test("frames without an item carry a scan on when nothing matches for long", async () => {
  const nothing: Touch = { kind: "object", address: `0x${"ab".repeat(32)}` };
  await using node = await opened(limited({ bucket: 1n, buckets: 30, progressEvery: 4 }));

  expect(await taken(node, [nothing])).toEqual([]);
  expect(node.server.listed.requests).toBe(Math.ceil(COUNT / 30));
});

for (const size of [1, 2, 5, 37]) {
  test(`pages of ${size} that end with the range's last match are complete`, async () => {
    await using node = await opened(limited({ items: { checkpoints: size, transactions: size } }));
    const { what, range } = endingWithMatch(size);

    expect(await taken(node, what, range)).toEqual(expected(what, range));
    expect(node.server.listed.requests).toBe(1);
  });
}

/** As a list that leaves the checkpoint of its last item open. */
const lessCovered = function* (frames: Iterable<Frame>): Generator<Frame> {
  for (const { covered, ...frame } of frames) {
    const less = frame.item === undefined ? covered : frame.item.checkpoint - 1n;
    yield less === undefined || less < 0n ? frame : { ...frame, covered: less };
  }
};

test("a bound by the cursor without a watermark is asked about again, and not taken for the end", async () => {
  await using node = await opened({
    ...limited({ items: { checkpoints: 5, transactions: 5 } }),
    ...lying({ frames: lessCovered }),
  });
  const { what, range } = endingWithMatch(5);

  expect(await taken(node, what, range)).toEqual(expected(what, range));
  expect(node.server.listed.requests).toBeGreaterThan(2);
});

/** A range of so many matches whose last checkpoint is one. */
const endingWithMatch = (size: number) => {
  const [treasury = ""] = treasuries;
  const what: readonly Touch[] = [{ kind: "object", address: treasury }];
  const matches = expected(what, ALL).slice(3, 3 + size);
  return { what, range: { first: matches[0] ?? 0n, last: matches.at(-1) ?? 0n } };
};

const honestInTheEnd: readonly (readonly [string, Lies["frames"]])[] = [
  ["names the tip in its first frame", atTip],
  ["ends after three frames with the tip", endingEarly(3, GrpcTypes.QueryEndReason.LEDGER_TIP)],
  ["ends after three frames without an end", endingEarly(3, undefined)],
  ["ends after two frames with a bound", endingEarly(2, GrpcTypes.QueryEndReason.CHECKPOINT_BOUND)],
  ["sends every item three times", repeated],
  ["breaks every second stream", breakingEvery(2)],
  ["sends an answer's items backwards", reordered],
];

for (const [how, frames] of honestInTheEnd) {
  test(`a node that ${how} changes nothing but the time`, async () => {
    await using node = await opened({
      ...limited({ items: { checkpoints: 20, transactions: 20 }, bucket: 10n, buckets: 10 }),
      ...lying({ frames }),
    });

    const found = await taken(node);

    expect([...new Set(found)].sort((a, b) => Number(a - b))).toEqual(expected(CONTRACT, ALL));
  });
}

test("matches outside the range are dropped", async () => {
  const digest = "another";
  await using node = await opened(
    lying({
      frames: function* (frames) {
        const cursor = new Uint8Array([1]);
        yield { item: { checkpoint: 90_000n, index: 0, digest }, cursor };
        yield* frames;
      },
    }),
  );

  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
});

test("an end of the stream alone does not make a range complete", async () => {
  const unmarked = function* (frames: Iterable<Frame>): Generator<Frame> {
    for (const { covered: _, ...frame } of frames) yield frame;
  };
  await using node = await opened(lying({ frames: unmarked }));

  const failure = await taken(node).catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(IndexStuckError);
  expect(failure).toMatchObject({ remedy: "retry" });
  expect(String(failure)).toMatch(/none of it is complete/);
});

test("a list that stays behind the range is named, with how far it is complete", async () => {
  await using node = await opened(limited({ newest: 299n }));

  const failure = await taken(node).catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(IndexStuckError);
  expect(String(failure)).toMatch(/over 0 to 399 made no progress .*: complete through 299 only/);
});

test("a list that catches up meanwhile is read to its end", async () => {
  await using node = await opened(limited({ newest: 299n }), {
    scan: { ...SCAN_BOUNDS, still: 1_000, backoff: { firstMs: 1, maxMs: 5 } },
  });
  const reading = taken(node);
  while (node.server.listed.requests < 5) await new Promise((resolve) => setImmediate(resolve));
  node.server.lists.limits = LIMITS;

  expect(await reading).toEqual(expected(CONTRACT, ALL));
});

test("a cursor that always moves and covers nothing is given up", async () => {
  let sent = 0;
  await using node = await opened(
    lying({
      frames: function* () {
        sent += 1;
        yield { cursor: Buffer.from(`checkpoints 5 ${sent}`) };
      },
    }),
    { scan: { ...SCAN_BOUNDS, within: 50, backoff: { firstMs: 1, maxMs: 5 } } },
  );

  await expect(taken(node)).rejects.toBeInstanceOf(IndexStuckError);
  expect(node.server.listed.requests).toBe(50);
});

test("a node that never ends an answer is cut off, and given up without progress", async () => {
  await using node = await opened(
    lying({
      frames: function* () {
        const item = { checkpoint: 7n, index: 0, digest: "again" };
        for (;;) yield { item, cursor: Buffer.from("checkpoints 7 0") };
      },
    }),
    { scan: { ...SCAN_BOUNDS, still: 2 } },
  );

  await expect(taken(node)).rejects.toBeInstanceOf(IndexStuckError);
});

test("a node that falls silent within an answer is asked again behind what it sent", async () => {
  let silences = 2;
  await using node = await opened(
    {
      ...limited({ bucket: 40n, buckets: 4, progressEvery: 1 }),
      ...lying({
        frames: function* (frames) {
          for (const frame of frames) {
            yield frame;
            if (frame.item === undefined && frame.end === undefined && silences > 0) {
              silences -= 1;
              yield "silent";
            }
          }
        },
      }),
    },
    { bounds: { answerMs: 200, maxMessageBytes: 1_000_000 } },
  );

  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
  expect(silences).toBe(0);
});

test("an answer above the limit of a message is an error to retry, not one to stop", async () => {
  await using node = await opened({}, { bounds: { answerMs: 5_000, maxMessageBytes: 1_000 } });
  const failure = await node.index
    .heads(unknownObjects(50), never)
    .catch((error: unknown) => error);

  expect(failure).toMatchObject({ remedy: "retry" });
  expect(String(failure)).toMatch(/larger than max/);
});

test("a start below the lists names where they begin, and never reads less in silence", async () => {
  await using node = await opened(limited({ floor: 50n }));

  const failure = await taken(node).catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(BelowIndexError);
  expect(failure).toMatchObject({ remedy: "stop" });
  expect(String(failure)).toMatch(/reach back to checkpoint 0: .*50.*INDEX_SOURCE/);
  const range = { first: 50n, last: ALL.last };
  expect(await taken(node, CONTRACT, range)).toEqual(expected(CONTRACT, range));
});

test("a node that takes fewer literals is asked with fewer", async () => {
  await using node = await opened(limited({ literals: 2 }));

  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
});

test("a cursor that the node no longer knows is dropped, and the scan goes on", async () => {
  await using node = await opened({
    ...limited({ items: { checkpoints: 50, transactions: 50 } }),
    ...lying({
      frames: function* (frames) {
        for (const frame of frames) yield { ...frame, cursor: Buffer.from("of another version") };
      },
    }),
  });

  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
});

test("a node without the lists is an error that says what to use instead", async () => {
  await using node = await opened({ onList: () => "unimplemented" });

  for (const failure of [
    await taken(node).catch((error: unknown) => error),
    await node.index.covers(never).catch((error: unknown) => error),
  ]) {
    expect(failure).toBeInstanceOf(HistoryIndexMissingError);
    expect(failure).toMatchObject({ remedy: "stop" });
    expect(String(failure)).toMatch(/INDEX_SOURCE.*READING=full/);
  }
});

const INDEX_OFF = [
  { code: status.UNAVAILABLE, details: "rpc indexes are disabled" },
  { code: status.FAILED_PRECONDITION, details: "rpc indexes are disabled" },
  { code: status.UNIMPLEMENTED, details: "ledger history indexing is disabled" },
];

for (const fault of INDEX_OFF) {
  test(`${status[fault.code]}, ${fault.details}: a missing index, which is not asked for again`, async () => {
    await using node = await opened({ onList: () => fault });

    const failure = await taken(node).catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(HistoryIndexMissingError);
    expect(failure).toMatchObject({ remedy: "stop" });
    expect(String(failure)).toMatch(new RegExp(`${fault.details}.*INDEX_SOURCE.*READING=full`));
    expect(node.server.listed.requests).toBe(1);
  });
}

test("an index that is still empty is an outage: it is asked again", async () => {
  let left = 2;
  await using node = await opened({
    onList: () => {
      left -= 1;
      return left >= 0 ? { code: status.UNAVAILABLE, details: "rpc index is empty" } : undefined;
    },
  });
  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));
});

test("an overloaded node is asked again, and given up with its reason", async () => {
  let left = 2;
  const fault = { code: status.UNAVAILABLE, details: "overloaded" };
  await using node = await opened({
    onList: () => {
      left -= 1;
      return left >= 0 ? fault : undefined;
    },
  });
  expect(await taken(node)).toEqual(expected(CONTRACT, ALL));

  node.server.lists.onList = () => fault;
  const failure = await taken(node).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(SourceUnavailableError);
  expect(String(failure)).toMatch(/overloaded/);
});

test("an aborted scan throws, so that it never passes for a complete one", async () => {
  await using node = await opened(limited({ bucket: 1n, buckets: 1 }));
  const aborting = new AbortController();
  const reading = async () => {
    for await (const _ of node.index.touching(CONTRACT, ALL, aborting.signal)) aborting.abort();
  };

  await expect(reading()).rejects.toThrow(/abort/i);
});

test("the lists say from where to where they go, and of which chain they are", async () => {
  await using node = await opened(limited({ floor: 20n, newest: 377n }));

  expect(await node.index.covers(never)).toEqual({ first: 20n, last: 377n });
  expect(await node.index.chainId(never)).toBe(ledger.chainId);
});

test("heads are the newest versions, null for what is gone, over several requests", async () => {
  await using node = await opened();
  const [treasury = ""] = treasuries;
  const gone = unknownObjects(450);

  const heads = await node.index.heads([treasury, ...gone], never);

  expect(heads.size).toBe(451);
  expect(heads.get(treasury)).toEqual(ledger.headOf(treasury));
  expect(gone.map((id) => heads.get(id)).every((head) => head === null)).toBe(true);
});

for (const objects of [1, 7, 49]) {
  test(`a node that takes ${objects} objects in a batch is asked with so few`, async () => {
    await using node = await opened(limited({ objects }));
    const ids = [...treasuries, ...unknownObjects(200)];

    const heads = await node.index.heads(ids, never);

    expect([...heads.keys()].sort()).toEqual([...ids].sort());
    for (const id of treasuries) expect(heads.get(id)).toEqual(ledger.headOf(id));
    // What was refused is not counted: each object was served once.
    expect(node.server.listed.objects).toBe(ids.length);
    const { refused } = node.server.listed;
    expect(refused).toBeGreaterThan(0);
    await node.index.heads(ids, never);
    expect(node.server.listed.refused).toBe(refused);
  });
}

test("a single object that the node refuses is an error with its reason", async () => {
  await using node = await opened(limited({ objects: 0 }));

  await expect(node.index.heads(treasuries, never)).rejects.toThrow(/exceeds limit of 0/);
});

test("transactions, ends of epochs and metadata are found, and null where unknown", async () => {
  await using node = await opened();
  const [place] = ledger.listed(`object ${treasuries[0]}`);
  const [coin] = demo.coinTypes;

  expect(await node.index.checkpointOf(place?.digest ?? "", never)).toBe(place?.checkpoint);
  expect(await node.index.checkpointOf("unknown", never)).toBeNull();
  expect(await node.index.epochEnd(1n, never)).toBe(199n);
  expect(await node.index.epochEnd(90n, never)).toBeNull();
  const metadata = ledger.metadataOf(coin?.coinType ?? "");
  expect(await node.index.metadataOf(coin?.coinType ?? "", never)).toEqual([metadata]);
  expect(await node.index.metadataOf("0x2::sui::SUI", never)).toEqual([]);
});
