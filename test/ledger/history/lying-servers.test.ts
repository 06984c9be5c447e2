/** Servers that depart from the protocol's word, but hide nothing that chains of versions need. */
import { GrpcTypes } from "@mysten/sui/grpc";
import { expect, test } from "vitest";
import { discover } from "../../../src/ledger/guided/discover.ts";
import { memoryStaging } from "../../../src/ledger/guided/staging.ts";
import { grpcIndex } from "../../../src/ledger/history/grpc-index.ts";
import { SCAN_BOUNDS } from "../../../src/ledger/history/list-scan.ts";
import { factsOfContract, stagedFacts } from "../guided/facts-found.ts";
import { open } from "../sources/grpc-opening.ts";
import {
  atTip,
  breakingEvery,
  coveringFalsely,
  endingEarly,
  HONEST,
  type Lies,
  reordered,
  repeated,
} from "./lies.ts";
import { type Frame, LIMITS, type ListLimits } from "./list-scan.ts";
import { startListServer } from "./list-server.ts";
import { listedDemo } from "./listed-demo.ts";

const ledger = listedDemo(
  { seed: "lying", foreign: 0.4, noise: 0.4, actionsPerCheckpoint: 0.8, epochLength: 60 },
  240,
);
const facts = factsOfContract(ledger);
const { demo } = ledger;
const never = new AbortController().signal;

/** Small answers, so that a range takes many. */
const SMALL: ListLimits = {
  ...LIMITS,
  items: { checkpoints: 20, transactions: 20 },
  bucket: 10n,
  buckets: 10,
  progressEvery: 3,
};

const read = async (lies: Partial<Lies>, limits: ListLimits) => {
  await using server = await startListServer(ledger, { limits, lies: { ...HONEST, ...lies } });
  await using source = open(server.host, { certificates: true });
  const index = grpcIndex({
    host: server.host,
    tls: false,
    retry: { attempts: 3, damagedAttempts: 3, backoff: { firstMs: 1, maxMs: 5 } },
    scan: { ...SCAN_BOUNDS, backoff: { firstMs: 1, maxMs: 5 } },
  });
  const staging = memoryStaging();
  try {
    const found = await discover(
      {
        index,
        source,
        trust: { committee: demo.committee },
        staging,
        packages: demo.packages.slice(0, 1),
        range: { first: 0n, last: ledger.newest() },
      },
      never,
    );
    return { found, facts: await stagedFacts(staging, demo.packages) };
  } finally {
    await index.close();
  }
};

/** Leaves out every n-th item of an answer; its watermarks claim all the same. */
const sparing = (nth: number) =>
  function* (frames: Iterable<Frame>): Generator<Frame> {
    let items = 0;
    for (const frame of frames) {
      const { item, ...rest } = frame;
      if (item !== undefined) items += 1;
      yield item === undefined || items % nth !== 0 ? frame : rest;
    }
  };

const { LEDGER_TIP, CHECKPOINT_BOUND, CURSOR_BOUND } = GrpcTypes.QueryEndReason;
const unrelated = [3n, 70n, 110n, 200n].map((checkpoint) => ({ checkpoint, index: 0, digest: "" }));

const servers: readonly (readonly [string, Partial<Lies>, ListLimits?])[] = [
  ["keeps to the protocol", {}],
  ["sends one item an answer", {}, { ...SMALL, items: { checkpoints: 1, transactions: 1 } }],
  ["scans two buckets an answer", {}, { ...SMALL, buckets: 2 }],
  ["takes three literals", {}, { ...SMALL, literals: 3 }],
  ["names the tip in its first frame", { frames: atTip }],
  ["ends with the tip after three frames", { frames: endingEarly(3, LEDGER_TIP) }],
  ["ends with the range after two frames", { frames: endingEarly(2, CHECKPOINT_BOUND) }],
  ["ends with the cursor after two frames", { frames: endingEarly(2, CURSOR_BOUND) }],
  ["ends without an end after three frames", { frames: endingEarly(3, undefined) }],
  ["breaks every second stream", { frames: breakingEvery(2) }],
  ["sends items backwards", { frames: reordered }],
  ["sends every item three times", { frames: repeated }],
  ["names checkpoints for every filter that do not fit it", { alsoListed: unrelated }],
  ["leaves out every third match", { frames: sparing(3) }],
];

for (const [how, lies, limits = SMALL] of servers) {
  test(`what is read from a server that ${how} is what a full reading finds`, async () => {
    const { found, facts: seen } = await read(lies, limits);
    expect(found.missing).toEqual([]);
    expect(seen).toEqual(facts);
  });
}

test("a server that names one match of an answer, and claims the rest, leaves out removals alone, which are named", async () => {
  const { found, facts: some } = await read({ frames: coveringFalsely(1) }, SMALL);
  const known = new Set(some.map(({ txDigest }) => txDigest));
  const lost = facts.filter(({ txDigest }) => !known.has(txDigest));
  expect(new Set(lost.map(({ kind }) => kind))).toEqual(new Set(["removal"]));
  expect(new Set(found.missing.map(({ objectId }) => objectId))).toEqual(
    new Set(lost.flatMap((fact) => (fact.kind === "removal" ? [fact.objectId] : []))),
  );
});
