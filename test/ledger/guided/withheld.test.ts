/** A node over gRPC that announces a checkpoint, lists or knows its transactions, and answers NOT_FOUND for it. */
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { discover } from "../../../src/ledger/guided/discover.ts";
import type { DiscoverOptions } from "../../../src/ledger/guided/options.ts";
import { memoryStaging } from "../../../src/ledger/guided/staging.ts";
import { createPatience } from "../../../src/ledger/guided/withheld.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { listSources } from "../../../src/ledger/sources/source-list.ts";
import { hiding } from "../history/hiding.ts";
import { HONEST } from "../history/lies.ts";
import { startListServer } from "../history/list-server.ts";
import { listedDemo } from "../history/listed-demo.ts";
import { listedIndex } from "../history/listed-index.ts";
import { open } from "../sources/grpc-opening.ts";
import { factsOfContract, stagedFacts } from "./facts-found.ts";
import { listedSource } from "./listed-source.ts";

const EPOCH = 60n;
const ledger = listedDemo(
  { seed: "withheld", foreign: 0.4, noise: 0.3, actionsPerCheckpoint: 0.8, epochLength: 60 },
  100,
);
const facts = factsOfContract(ledger);
const { demo } = ledger;
const never = new AbortController().signal;

let node: Awaited<ReturnType<typeof startListServer>>;
beforeAll(async () => {
  node = await startListServer(ledger);
});
beforeEach(() => {
  node.lists.lies = HONEST;
});
afterAll(() => node[Symbol.asyncDispose]());

const impatient = () => open(node.host, { certificates: true, behindGraceMs: 20 });

const read = async (source: CheckpointSource, index: DiscoverOptions["index"]) => {
  const staging = memoryStaging();
  const range = { first: 0n, last: ledger.newest() };
  const trust = { committee: demo.committee };
  const packages = demo.packages.slice(0, 1);
  const { missing } = await discover({ index, source, trust, staging, packages, range }, never);
  return { missing, facts: await stagedFacts(staging, demo.packages) };
};

/** The last change of an object that lives on, alone in its checkpoint. */
const lastChange = facts.findLast((fact) => {
  const { kind, checkpoint, txDigest } = fact;
  const isNeeded = checkpoint % EPOCH === EPOCH - 1n || checkpoint === ledger.newest();
  const isAlone = facts.every(
    (other) => other.checkpoint !== checkpoint || other.txDigest === txDigest,
  );
  const isKnown = kind === "object" && fact.versionBefore !== null;
  return isKnown && !isNeeded && isAlone && ledger.headOf(fact.objectId)?.version === fact.version;
});
if (lastChange?.kind !== "object") throw new Error("the ledger has no such change");
const { checkpoint, txDigest, coinType } = lastChange;
const hidden = hiding(ledger, txDigest, facts);
const withheld = new Set([checkpoint]);
const others = facts.filter((fact) => fact.checkpoint !== checkpoint);

test.each([
  ["lists", HONEST],
  ["knows, without listing them", hidden.lists],
])(
  "a withheld checkpoint whose transactions the node %s is named by object and version, and the rest is read",
  async (_, lists) => {
    node.lists.lies = { ...HONEST, withheld };
    await using source = impatient();
    const found = await read(source, listedIndex(ledger, lists));
    expect(found.facts).toEqual(others);
    expect(found.missing.length).toBeGreaterThan(0);
    for (const one of found.missing) {
      expect(hidden.objects).toContain(one.objectId);
      expect(one).toMatchObject({
        coinType,
        reason: expect.stringContaining(`checkpoint ${checkpoint} cannot be had: `),
      });
    }
  },
);

test("a checkpoint that is listed for the contract, withheld, and that no object leads to stands for every token", async () => {
  const empty = 40n;
  expect(facts.some((fact) => fact.checkpoint === empty)).toBe(false);
  node.lists.lies = { ...HONEST, withheld: new Set([empty]) };
  const index = listedIndex(ledger);
  const listing: typeof index = {
    ...index,
    touching: async function* (what, range, own) {
      if (what.some(({ kind }) => kind === "calls")) yield empty;
      yield* index.touching(what, range, own);
    },
  };
  await using source = impatient();
  const found = await read(source, listing);
  expect(found.facts).toEqual(facts);
  const [objectId] = demo.packages;
  expect(found.missing).toMatchObject([{ objectId, coinType: null, version: 1n, after: 39n }]);
});

test("what one source withholds is read from the next one listed", async () => {
  node.lists.lies = { ...HONEST, withheld };
  await using source = impatient();
  const both = listSources([() => source, () => listedSource(ledger).source]);
  const found = await read(both, listedIndex(ledger));
  expect(found).toEqual({ missing: [], facts });
});

test("a checkpoint counts as withheld when it alone fails, not when all do", async () => {
  const { onCheckpoint } = node.state;
  await using source = impatient();
  const failing = (fails: (sequence: bigint) => boolean) => {
    node.state.onCheckpoint = (sequence) =>
      fails(sequence) ? { code: status.UNAVAILABLE } : undefined;
    return createPatience(source)(checkpoint, () => taken(source, checkpoint), never);
  };
  await expect(failing(() => true)).rejects.toMatchObject({ name: "SourceUnavailableError" });
  await expect(failing((sequence) => sequence === checkpoint)).rejects.toMatchObject({
    ...{ name: "CheckpointWithheldError", sequence: checkpoint, remedy: "retry" },
  });
  node.state.onCheckpoint = onCheckpoint;
});

test("after three withheld checkpoints the next one is waited for less long", async () => {
  node.lists.lies = { ...HONEST, withheld: new Set([1n, 2n, 3n, 4n]) };
  await using source = impatient();
  const patiently = createPatience(source);
  const waits: (number | undefined)[] = [];
  for (const sequence of [1n, 2n, 3n, 4n, 4n]) {
    const reading = patiently(
      sequence,
      (graceMs) => {
        waits.push(graceMs);
        return taken(source, sequence);
      },
      never,
    );
    await expect(reading).rejects.toThrow(`checkpoint ${sequence} cannot be had`);
  }
  // The second time it is known.
  expect(waits).toEqual([undefined, undefined, undefined, 5_000]);
});

const taken = async (source: CheckpointSource, sequence: bigint): Promise<bigint> => {
  for await (const raw of source.checkpoints({ first: sequence, last: sequence }, never)) {
    return raw.sequence;
  }
  throw new Error("it ended");
};
