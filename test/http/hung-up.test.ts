/** Callers that hang up, and pages for which there is no room. */
import { expect, test } from "vitest";
import { docsPart } from "../../src/http/docs/part.ts";
import { HungUpError, hangUpSignal } from "../../src/http/hung-up.ts";
import type { Part } from "../../src/http/part.ts";
import type { Unsent } from "../../src/http/unsent.ts";
import { serve } from "./service.ts";

test("the handler is notified when its caller hangs up, and not after an answer", async () => {
  const signals: AbortSignal[] = [];
  const part: Part = {
    name: "rest",
    paths: [],
    register: (app) => {
      app.get("/answered", async (_request, reply) => {
        signals.push(hangUpSignal(reply.raw));
        expect(hangUpSignal(reply.raw)).toBe(signals[0]);
        return { answered: true };
      });
      app.get("/worked-on", async (_request, reply) => {
        const signal = hangUpSignal(reply.raw);
        signals.push(signal);
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      });
    },
  };
  await using service = await serve({ parts: [part] });
  expect(await (await fetch(`${service.url}/answered`)).json()).toEqual({ answered: true });

  const caller = new AbortController();
  const asked = fetch(`${service.url}/worked-on`, { signal: caller.signal });
  asked.catch(() => undefined);
  await expect.poll(() => signals.length).toBe(2);
  caller.abort();
  await expect.poll(() => signals[1]?.reason).toBeInstanceOf(HungUpError);
  expect(signals[0]?.aborted).toBe(false);

  // One line says so; that its work ended with an error is none.
  await expect.poll(() => service.log.filter(({ msg }) => msg === "hung up")).toHaveLength(1);
  expect(service.log.filter(({ level }) => level === 50)).toEqual([]);
});

test("a script that exceeds the memory limit gets 503 in the common form", async () => {
  const full: Unsent = { hold: () => false, bytes: 0 };
  const part = docsPart({ parts: [], version: "1", unsent: full });
  await using service = await serve({ parts: [part] });
  const page = await fetch(`${service.url}/docs/`);
  const [, script = ""] = /<script[^>]*\ssrc="([^"]+)"/.exec(await page.text()) ?? [];
  const answer = await fetch(new URL(script, page.url));
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(answer.headers.get("content-type")).toContain("application/json");
  expect(await answer.json()).toMatchObject({
    error: "INTERNAL_ERROR",
    requestId: answer.headers.get("x-request-id"),
  });
});
