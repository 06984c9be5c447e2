/** The one state of the service that the page shows, over everything it can be made of. */
import { expect, test } from "vitest";
import { type Health, stalledParts } from "../../web/src/data/health.ts";
import {
  OLD_ANSWER_MS,
  OLD_CHECKPOINT_MS,
  type Seen,
  type ServiceState,
  serviceState,
} from "../../web/src/data/service-state.ts";

const NOW = Date.UTC(2026, 10, 24, 14, 3, 11);
const AGES = [0, OLD_ANSWER_MS + 1_000];
const CHECKPOINTS = [null, NOW - 1_000, NOW - OLD_CHECKPOINT_MS - 1_000, NOW - 692 * 86_400_000];

/** Each combination of what the page can have seen. */
const everything = (): readonly Seen[] => {
  const healths: Seen["health"][] = [null];
  for (const status of ["ok", "catching_up", "stalled", "unknown"] as const) {
    for (const silentMs of AGES) {
      for (const ageMs of AGES) {
        for (const doubt of [null, "no process says how far the chain is"]) {
          for (const notes of [[], ["the database does not answer"]]) {
            const reason = status === "stalled" ? "the source is silent" : null;
            const [atMs, ageSeconds] = [NOW - silentMs, ageMs / 1_000];
            healths.push({ status, atMs, ageSeconds, reason, doubt, notes });
          }
        }
      }
    }
  }
  const all: Seen[] = [];
  for (const health of healths) {
    for (const lostMs of [null, NOW - 6_000]) {
      for (const refused of [false, true]) {
        for (const fault of [null, "The service answered 500."]) {
          for (const newestMs of CHECKPOINTS) {
            all.push({ lostMs, refused, health, fault, newestMs });
          }
        }
      }
    }
  }
  return all;
};

const states = everything().map((seen) => ({ seen, state: serviceState(seen, NOW) }));
const those = (is: (state: ServiceState) => boolean) =>
  states.filter(({ state }) => is(state)).map(({ seen }) => seen);

test("the service is up to date only if it said so just now, about a checkpoint of this minute, and still answers", () => {
  const good = those(({ tone }) => tone === "good");
  expect(good.length).toBeGreaterThan(0);
  expect(good).toEqual(those(({ word }) => word === "Up to date"));
  for (const { lostMs, refused, health, fault, newestMs } of good) {
    expect([lostMs, refused, fault]).toEqual([null, false, null]);
    expect(health).toMatchObject({ status: "ok", atMs: NOW, ageSeconds: 0, doubt: null });
    expect(NOW - (newestMs ?? 0)).toBeLessThanOrEqual(OLD_CHECKPOINT_MS);
  }
});

test("a service that does not answer is lost from the first failed request, whatever it said before", () => {
  const lost = those(({ kind }) => kind === "lost");
  expect(lost).toEqual(everything().filter(({ lostMs }) => lostMs !== null));
  expect(states.find(({ seen }) => seen.lostMs !== null)?.state).toMatchObject({
    word: "No answer since 14:03:05 UTC",
    tone: "bad",
  });
});

test("a stall is shown with its reason, also from a cached report", () => {
  const stalled = states.filter(
    ({ seen: { lostMs, refused, health } }) =>
      lostMs === null && !refused && health?.status === "stalled" && health.atMs === NOW,
  );
  for (const { state } of stalled) {
    expect(state).toMatchObject({ kind: "stalled", tone: "bad", detail: "the source is silent" });
  }
});

test("figures without a recent report are unknown, never good or bad", () => {
  for (const { seen, state } of states) {
    const { lostMs, refused, health, fault } = seen;
    if (lostMs !== null || refused || health?.status === "stalled") continue;
    const isOld =
      health !== null && NOW - (health.atMs - health.ageSeconds * 1_000) > OLD_ANSWER_MS;
    if (fault !== null || isOld) expect(state).toMatchObject({ kind: "unknown", tone: "warn" });
  }
  expect(those(({ kind }) => kind === "connecting")).toEqual(
    everything().filter(
      ({ lostMs, refused, health, fault }) =>
        lostMs === null && !refused && health === null && fault === null,
    ),
  );
});

test("a chain without news is quiet, one being read is behind: each by how much", () => {
  const of = (status: "ok" | "catching_up", newestMs: number | null) =>
    serviceState(
      {
        lostMs: null,
        refused: false,
        fault: null,
        newestMs,
        health: { status, atMs: NOW, ageSeconds: 0, reason: null, doubt: null, notes: [] },
      },
      NOW,
    );
  const old = NOW - 692 * 86_400_000;
  expect(of("ok", old)).toMatchObject({ word: "Chain quiet for 692 d", tone: "warn" });
  expect(of("catching_up", old)).toMatchObject({ word: "692 d behind", tone: "warn" });
  expect(of("catching_up", NOW)).toMatchObject({ word: "Catching up", tone: "warn" });
  expect(of("catching_up", null)).toMatchObject({ word: "Nothing indexed yet", tone: "warn" });
});

test("every stall is named with its reason, also of parts unknown to this page", () => {
  const stalled = { state: "stalled", reason: "it hangs" } as const;
  const unmoved = {
    checkpoint: null,
    checkpointTimestamp: null,
    ageSeconds: null,
    lagCheckpoints: null,
    state: "ok",
  } as const;
  const pipeline = { pipeline: "role_changes", ...unmoved };
  const reader = { tip: null, ...unmoved };
  const named = (members: Partial<Health>, details: object = {}) =>
    stalledParts({
      version: "1",
      status: "stalled",
      pipelines: [pipeline],
      reader,
      details,
      ...members,
    });
  const process = { pid: 7, host: "one" };
  expect(named({ pipelines: [{ ...pipeline, ...stalled }] })).toEqual([
    { name: "Pipeline role_changes", reason: "it hangs" },
  ]);
  expect(named({ reader: { ...reader, ...stalled } })).toEqual([
    { name: "The reader", reason: "it hangs" },
  ]);
  expect(named({ reason: "it hangs" })).toEqual([{ name: "The service", reason: "it hangs" }]);
  for (const [detail, name] of [
    [{ queue: stalled }, "The queue"],
    [{ processes: [{ ...process, ...stalled }] }, "Process 7 on one"],
    [{ indexing: stalled }, "The process that indexes"],
  ] as const) {
    expect(named({}, detail)).toMatchObject([{ name, reason: "it hangs" }]);
  }
  expect(
    named(
      {},
      {
        processes: [
          { ...process, ...stalled },
          { ...process, state: "ok" },
        ],
      },
    ),
  ).toEqual([{ name: "The service", reason: null }]);
  expect(named({}, { "something new": stalled })).toEqual([{ name: "The service", reason: null }]);
});
