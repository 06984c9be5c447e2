// @module-tag thorough
/** Daily roots of a log that was read guided: the last checkpoint of the day was not read. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { dailyRoots } from "../../src/audit/watch/daily-roots.ts";
import { missingSummary } from "../../src/log/between.ts";
import { findAsked } from "../../src/service/find-asked.ts";
import { guidedLog } from "../ledger/reading/guided-log.ts";
import { foundSummaries } from "../log/damage.ts";
import { copyOf, type TestDatabase } from "../postgres.ts";
import { listening } from "../postgres-listeners.ts";
import { eventually } from "../service/process.ts";
import { entriesOf } from "./sequence-entries.ts";

const HOUR = 3_600_000;
const MIDNIGHT = Date.UTC(2026, 5, 2);
/** The last checkpoint before midnight; 136 and 153 were read. */
const CLOSE = 143n;
const asked = { kind: "second", unixSeconds: BigInt(MIDNIGHT) / 1_000n - 1n } as const;

let logs: Awaited<ReturnType<typeof guidedLog>>;
beforeAll(async () => {
  // A checkpoint every ten minutes.
  logs = await guidedLog({
    genesisTimeMs: BigInt(MIDNIGHT - 24 * HOUR),
    intervalMs: BigInt(HOUR / 6),
  });
}, 60_000);
afterAll(() => logs[Symbol.asyncDispose]());

/** The check after midnight, a whole round at a time. */
const rounds = async (database: TestDatabase) => {
  const faults: string[] = [];
  const key = await openDeploymentKey(database, randomBytes(32));
  const check = dailyRoots({
    key,
    now: () => MIDNIGHT + HOUR,
    onFault: (_, { message }) => faults.push(message),
  });
  const round = async () => {
    while (!(await check.next(database)).ended);
    return rootsOf(database);
  };
  return { faults, round };
};

const rootsOf = async ({ sql }: TestDatabase) =>
  (await entriesOf(sql))
    .filter(({ kind }) => kind === "root" || kind === "coin")
    .map(({ kind, body }) => ({ kind, body }));

/** The indexing process's answer to what is asked, until disposed. */
const finding = async (database: TestDatabase, source = logs.sourceOf().source) => {
  const ending = new AbortController();
  const failures: string[] = [];
  const onFailure = ({ message }: Error) => void failures.push(message);
  const ended = findAsked({ database, source, onFailure, signal: ending.signal });
  await listening(database);
  return {
    failures,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await ended;
    },
  };
};

test("the close between two checkpoints that were read is asked for, and the next round publishes the roots of a log that was read whole", async () => {
  await using whole = await copyOf(logs.exhaustive);
  const expected = await (await rounds(whole)).round();
  expect(expected.length).toBeGreaterThan(1);
  expect(new Set(expected.map(({ body }) => body.checkpoint))).toEqual(new Set([`${CLOSE}`]));

  await using guided = await copyOf(logs.guided);
  await using found = await finding(guided);
  const { faults, round } = await rounds(guided);
  expect(await round()).toEqual([]);
  await eventually("the close to be found", async () => {
    const missing = await missingSummary(guided, asked);
    return missing === null ? { done: true } : { seen: missing };
  });
  expect(await foundSummaries(guided)).toContain(CLOSE);
  expect(await round()).toEqual(expected);
  expect([...faults, ...found.failures]).toEqual([]);
});

test("while the close cannot be had no root is published and nothing is a fault; later it is", async () => {
  await using guided = await copyOf(logs.guided);
  const { faults, round } = await rounds(guided);
  // Without a process that finds.
  expect(await round()).toEqual([]);
  {
    const { source } = logs.sourceOf((raw) => {
      if (raw.sequence === CLOSE) throw new Error("not here");
      return raw;
    });
    await using found = await finding(guided, source);
    await eventually("the source to be asked in vain", async () => {
      expect(await round()).toEqual([]);
      return found.failures.length > 0 ? { done: true } : { seen: found.failures };
    });
    expect(new Set(found.failures)).toEqual(new Set(["not here"]));
  }
  await using _found = await finding(guided);
  const roots = await eventually("the roots", async () => {
    const published = await round();
    return published.length > 0 ? { done: published } : { seen: await foundSummaries(guided) };
  });
  expect(new Set(roots.map(({ body }) => body.checkpoint))).toEqual(new Set([`${CLOSE}`]));
  expect(faults).toEqual([]);
});
