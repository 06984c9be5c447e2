import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { type BatchBounds, createGathering } from "../../../src/ledger/reading/gathering.ts";
import { factBytes } from "../../../src/log/fact.ts";
import { COIN, fact, mark, marksOf, PACKAGE, piecesOf } from "../../log/facts.ts";

const roomy: BatchBounds = { facts: 1_000, bytes: 1 << 30, checkpoints: 1_000, ageMs: 60_000 };
const never = new AbortController().signal;
const atOnce = () => 0;

const checkpoint = (sequence: bigint, facts = 0) => ({
  mark: mark(sequence),
  previousDigest: mark(sequence - 1n).digest,
  facts: Array.from({ length: facts }, (_, transaction) => fact(sequence, transaction)),
  coins: facts > 0 ? [{ coinType: COIN, decimals: Number(sequence) }] : [],
  joined: facts > 1 ? [{ address: PACKAGE, checkpoint: sequence, transaction: 0 }] : [],
  skipped: facts === 0,
});

test("a batch holds its checkpoints in order, marks those with facts, and counts its work", async () => {
  const gathering = createGathering(roomy);
  gathering.add(checkpoint(5n), 100);
  gathering.add(checkpoint(6n, 2), 200);
  gathering.add(checkpoint(7n), 300);
  gathering.idle();
  const taken = await gathering.take(atOnce, never);
  expect(taken?.batch).toEqual({
    first: 5n,
    last: mark(7n),
    marks: [mark(6n)],
    blocks: piecesOf(marksOf(5n, 7n)),
    facts: [fact(6n, 0), fact(6n, 1)],
    joined: [{ address: PACKAGE, checkpoint: 6n, transaction: 0 }],
  });
  expect(taken).toMatchObject({
    coins: [{ coinType: COIN, decimals: 6 }],
    checkpoints: 3,
    skipped: 2,
    rawBytes: 600,
  });
});

test.each([
  ["facts", { facts: 4 }],
  ["bytes", { bytes: 4 * factBytes(fact(0n)) }],
  ["checkpoints", { checkpoints: 2 }],
])("a batch full of %s is taken, and more waits until it was", async (_, bound) => {
  const gathering = createGathering({ ...roomy, ...bound });
  gathering.add(checkpoint(0n, 2), 1);
  await gathering.room(never);
  gathering.add(checkpoint(1n, 2), 1);
  let room = false;
  const waiting = gathering.room(never).then(() => {
    room = true;
  });
  await wait(5);
  expect(room).toBe(false);
  expect((await gathering.take(atOnce, never))?.checkpoints).toBe(2);
  await waiting;
  expect(room).toBe(true);
});

test("a partial batch waits while the source has more, as long as its age allows", async () => {
  const gathering = createGathering({ ...roomy, ageMs: 60 });
  const startedAt = performance.now();
  gathering.add(checkpoint(0n, 1), 1);
  const taking = gathering.take(atOnce, never);
  await wait(10);
  gathering.add(checkpoint(1n, 1), 1);
  expect((await taking)?.checkpoints).toBe(2);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(55);
});

test("with an idle source a batch goes immediately, or after lingering while catching up", async () => {
  const gathering = createGathering(roomy);
  const lingering = gathering.take(() => 40, never);
  gathering.add(checkpoint(0n), 1);
  const startedAt = performance.now();
  gathering.idle();
  expect((await lingering)?.checkpoints).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(35);

  const prompt = gathering.take(atOnce, never);
  gathering.add(checkpoint(1n), 1);
  gathering.idle();
  expect((await prompt)?.batch.first).toBe(1n);
});

test("the rest is flushed at the end, then nothing; an abort ends both sides immediately", async () => {
  const gathering = createGathering(roomy);
  gathering.add(checkpoint(0n), 1);
  gathering.end();
  expect((await gathering.take(() => 60_000, never))?.checkpoints).toBe(1);
  expect(await gathering.take(() => 60_000, never)).toBeNull();

  const aborted = createGathering({ ...roomy, checkpoints: 1 });
  aborted.add(checkpoint(0n), 1);
  await aborted.room(AbortSignal.timeout(5));
  expect(await aborted.take(atOnce, AbortSignal.abort())).toBeNull();
});
