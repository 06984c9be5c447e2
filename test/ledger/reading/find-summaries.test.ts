/** Checkpoints and times between those that a guided reading read, against a log with every checkpoint. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { createSummaryFinder } from "../../../src/ledger/reading/find-summaries.ts";
import { CheckpointPrunedError } from "../../../src/ledger/sources/source-errors.ts";
import { missingSummary, summaryProof } from "../../../src/log/between.ts";
import { checkpointBefore, checkpointMark } from "../../../src/log/blocks.ts";
import { keepSummaries } from "../../../src/log/guided.ts";
import { foundSummaries } from "../../log/damage.ts";
import { copyOf } from "../../postgres.ts";
import { EVERY, FIRST, guidedLog, NEWEST } from "./guided-log.ts";

const signal = AbortSignal.timeout(120_000);

let logs: Awaited<ReturnType<typeof guidedLog>>;

beforeAll(async () => {
  logs = await guidedLog();
});

afterAll(() => logs[Symbol.asyncDispose]());

test("every second gets the checkpoint that an exhaustive log gives it, and every checkpoint its time and digest", async () => {
  const { exhaustive, sourceOf } = logs;
  await using database = await copyOf(logs.guided);
  const finder = createSummaryFinder({ sql: database.sql, source: sourceOf().source });
  const begin = await checkpointMark(exhaustive.db, FIRST);
  const end = await checkpointMark(exhaustive.db, NEWEST);
  const second = (ms = 0n) => ms / 1_000n;
  const [from, to] = [second(begin?.timestampMs) - 2n, second(end?.timestampMs) + 2n];
  const step = (to - from) / 60n + 1n;
  for (let unixSeconds = from; unixSeconds <= to; unixSeconds += step) {
    await finder.find({ kind: "second", unixSeconds }, signal);
    const expected = await checkpointBefore(exhaustive.db, unixSeconds);
    expect(await checkpointBefore(database.db, unixSeconds), `${unixSeconds}`).toEqual(expected);
    if (expected.kind !== "found") continue;
    // Both sides of the second are known: the answer rests on signatures alone.
    for (const at of [expected.checkpoint, expected.checkpoint + 1n]) {
      expect(await checkpointMark(database.db, at)).not.toBeNull();
      expect(await checkpointMark(database.db, at)).toEqual(
        await checkpointMark(exhaustive.db, at),
      );
    }
  }
  for (let checkpoint = FIRST; checkpoint <= NEWEST; checkpoint += 1n) {
    await finder.find({ kind: "checkpoint", checkpoint }, signal);
    expect(await checkpointMark(database.db, checkpoint)).toEqual(
      await checkpointMark(exhaustive.db, checkpoint),
    );
  }
});

test("a time costs the bisection of one gap, and nothing once it is known", async () => {
  const { exhaustive, sourceOf } = logs;
  await using database = await copyOf(logs.guided);
  const { source, fetched } = sourceOf();
  const finder = createSummaryFinder({ sql: database.sql, source });
  const asked = await checkpointMark(exhaustive.db, 60n);
  const moment = { kind: "second", unixSeconds: (asked?.timestampMs ?? 0n) / 1_000n } as const;
  expect(await missingSummary(database.db, moment)).not.toBeNull();
  await finder.find(moment, signal);
  expect(fetched.length).toBeLessThanOrEqual(5);
  expect(await foundSummaries(database)).toEqual(fetched.toSorted((a, b) => (a < b ? -1 : 1)));
  const before = fetched.length;
  await finder.find(moment, signal);
  await finder.find({ kind: "checkpoint", checkpoint: BigInt(EVERY) }, signal);
  await finder.find({ kind: "checkpoint", checkpoint: NEWEST + 5n }, signal);
  expect(fetched.length).toBe(before);
});

test("what a source changes, exchanges or withholds is not kept", async () => {
  const { genuine, sourceOf } = logs;
  await using database = await copyOf(logs.guided);
  const { sql } = database;
  const at = 20n;
  const other = createDemoLedger({ seed: 6, epochLength: 60 });
  const foreign = Array.from({ length: 40 }, () => other.next().raw("bcs"));
  const lies: Readonly<Record<string, (raw: RawCheckpoint) => RawCheckpoint>> = {
    "another chain's": (raw) => ({ ...raw, bytes: foreign[Number(raw.sequence)] ?? raw.bytes }),
    "another checkpoint": () => genuine[21] ?? raise(),
    "another checkpoint under this number": (raw) => ({
      ...raw,
      bytes: genuine[21]?.bytes ?? raise(),
    }),
    "another time": (raw) => ({ ...raw, bytes: changed(raw.bytes, 60) }),
    none: (raw) => {
      throw new CheckpointPrunedError("test", raw.sequence, 100n);
    },
  };
  for (const [name, lie] of Object.entries(lies)) {
    const finder = createSummaryFinder({ sql, source: sourceOf(lie).source });
    const found = finder.find({ kind: "checkpoint", checkpoint: at }, signal);
    await expect(found, name).rejects.toThrow();
    expect(await foundSummaries(database), name).toEqual([]);
  }
  await createSummaryFinder({ sql, source: sourceOf().source }).find(
    { kind: "checkpoint", checkpoint: at },
    signal,
  );
  const proof = await summaryProof(database.db, at);
  expect(proof).toMatchObject({ firstCheckpoint: at, lastCheckpoint: at, epoch: 0n });
});

test("a summary that was found is never changed", async () => {
  const { sourceOf } = logs;
  await using database = await copyOf(logs.guided);
  const { sql } = database;
  const finder = createSummaryFinder({ sql, source: sourceOf().source });
  await finder.find({ kind: "checkpoint", checkpoint: 20n }, signal);
  const known = await checkpointMark(database.db, 20n);
  const bytes = new Uint8Array([1]);
  const parts = { epoch: 0n, summary: bytes, signature: bytes, signers: bytes };
  await keepSummaries(sql, [{ sequence: 20n, digest: "other", timestampMs: 1n, ...parts }]);
  expect(await checkpointMark(database.db, 20n)).toEqual(known);
});

const raise = (): never => {
  throw new Error("no such checkpoint");
};

const changed = (bytes: Uint8Array, place: number): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  copy[place] = (copy[place] ?? 0) ^ 1;
  return copy;
};
