import { expect, test } from "vitest";
import { createGate } from "../../src/http/edge/gate.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { HttpError } from "../../src/http/http-error.ts";

const gateWith = (limits: { readonly quota?: number; readonly attempts?: number } = {}) => {
  const good = new Set(["alice", "bob"]);
  const gate = createGate({
    header: "X-API-Key",
    verify: async (presented) => {
      if (presented === "elsewhere") throw new HttpError(403, "a key of another interface");
      return good.has(presented) ? { id: presented } : null;
    },
    limit: createRateLimit({ policy: "default", quota: limits.quota ?? 10, windowSeconds: 60 }),
    attempts: createRateLimit({
      policy: "attempts",
      quota: limits.attempts ?? 2,
      windowSeconds: 60,
      counted: "failed attempts",
    }),
  });
  /** What a caller gets: its key and remaining requests, or the status. */
  const knock = async (presented: string | undefined, remoteAddress = "192.0.2.1") => {
    try {
      const { key, headers } = await gate.admit({ presented, remoteAddress });
      return `${key.id} ${headers.ratelimit}`;
    } catch (error) {
      return error instanceof HttpError ? error.statusCode : error;
    }
  };
  return { knock, good, gate };
};

test("a valid key is admitted and told its remaining quota", async () => {
  const { knock } = gateWith({ quota: 10 });
  expect(await knock("alice")).toBe('alice "default";r=9;t=6');
});

test("a missing, unknown or overlong key is 401, one of another interface 403", async () => {
  const { knock } = gateWith({ attempts: 10 });
  expect(await knock(undefined)).toBe(401);
  expect(await knock("")).toBe(401);
  expect(await knock("mallory")).toBe(401);
  expect(await knock("x".repeat(100_000))).toBe(401);
  expect(await knock("elsewhere")).toBe(403);
});

test("a key over its quota is 429; other keys are unaffected", async () => {
  const { knock } = gateWith({ quota: 1 });
  await knock("alice");
  expect(await knock("alice")).toBe(429);
  expect(await knock("bob")).toContain("bob");
});

test("wrong keys beyond the limit of an address get 429 with the reason; other addresses are unaffected", async () => {
  const { knock, gate } = gateWith({ attempts: 2 });
  expect([await knock("m1"), await knock("elsewhere"), await knock("m3")]).toEqual([401, 403, 429]);
  expect([await knock(undefined), await knock("elsewhere")]).toEqual([429, 429]);
  expect(await knock("m4", "192.0.2.2")).toBe(401);
  await expect(gate.admit({ presented: "m5", remoteAddress: "192.0.2.1" })).rejects.toThrow(
    /^more than 2 failed attempts in 60 s; try again in \d+ s$/,
  );
});

test("a valid key never seen before is admitted however often its address failed, until it is revoked", async () => {
  const { knock, good } = gateWith({ attempts: 2 });
  for (let i = 0; i < 5; i += 1) await knock("mallory");
  expect(await knock("mallory")).toBe(429);
  expect(await knock("alice")).toContain("alice");
  good.delete("alice");
  expect(await knock("alice")).toBe(429);
});

test("a key that is only identified does not count against its quota", async () => {
  const { knock, gate } = gateWith({ quota: 1 });
  for (let i = 0; i < 5; i += 1) {
    const key = await gate.identify({ presented: "alice", remoteAddress: "192.0.2.9" });
    expect(key).toEqual({ id: "alice" });
  }
  expect(await knock("alice")).toContain("r=0");
});
