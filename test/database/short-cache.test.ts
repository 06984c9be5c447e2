import { expect, test } from "vitest";
import { createShortCache } from "../../src/database/short-cache.ts";

const cacheAt = (clock: { ms: number }, more = {}) =>
  createShortCache<string | null>({ freshMs: 900, max: 2, now: () => clock.ms, ...more });

test("a value is read once while it is fresh, however many ask", async () => {
  const clock = { ms: 0 };
  const cache = cacheAt(clock);
  let reads = 0;
  const load = async () => `value ${++reads}`;
  expect(await Promise.all([cache.get("a", load), cache.get("a", load)])).toEqual([
    "value 1",
    "value 1",
  ]);
  clock.ms = 899;
  // Not a promise any more: a value that is there is not waited for.
  expect(cache.get("a", load)).toBe("value 1");
  clock.ms = 900;
  expect(await cache.get("a", load)).toBe("value 2");
});

test("a value's age counts from its request, so a change during the load is not missed", async () => {
  const clock = { ms: 0 };
  const cache = cacheAt(clock);
  const slow = cache.get("a", async () => {
    clock.ms = 800;
    return "old";
  });
  await slow;
  clock.ms = 950;
  expect(await cache.get("a", async () => "new")).toBe("new");
});

test("a failed read is not cached", async () => {
  const cache = cacheAt({ ms: 0 });
  const failing = cache.get("a", () => Promise.reject(new Error("away")));
  await expect(failing).rejects.toThrow("away");
  expect(await cache.get("a", async () => "back")).toBe("back");
});

test("concurrent loads from a silent database are bounded, and more are refused immediately", async () => {
  const cache = cacheAt({ ms: 0 });
  const answer = Promise.withResolvers<string>();
  const asked = Array.from({ length: 1_000 }, (_, n) => cache.get(`${n}`, () => answer.promise));
  const refused = cache.get("one more", async () => "never read");
  await expect(refused).rejects.toMatchObject({
    name: "DatabaseUnavailableError",
    remedy: "retry",
  });
  // A caller that asks for what is being read already waits with the others.
  const shared = cache.get("7", async () => "never read");
  answer.resolve("there");
  expect(new Set(await Promise.all([...asked, shared]))).toEqual(new Set(["there"]));
  expect(await cache.get("one more", async () => "read")).toBe("read");
});

test("the cache is bounded and keeps only worthwhile values", async () => {
  const cache = cacheAt({ ms: 0 }, { worth: (value: string | null) => value !== null });
  for (const name of ["a", "b", "c"]) await cache.get(name, async () => name);
  expect(cache.get("c", async () => "again")).toBe("c");
  expect(await cache.get("a", async () => "again")).toBe("again");
  await cache.get("none", async () => null);
  expect(await cache.get("none", async () => "found")).toBe("found");
});
