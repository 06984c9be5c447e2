/** What `/health` and `/metrics` say of callback addresses, asked over HTTP. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { callbackFigures, MOST_ENDPOINTS } from "../../src/callbacks/figures.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { createServer } from "../../src/http/server.ts";
import { createLogger } from "../../src/logging/logger.ts";
import { evmDetails, evmGauges } from "../../src/service/health/evm-health.ts";
import { remedyOf } from "../../src/waiting/remedy.ts";
import { until } from "../lanes/until.ts";
import type { TestDatabase } from "../postgres.ts";
import { startReceiver } from "./receiver.ts";
import { ENDPOINT, LOCAL, startSender } from "./sender.ts";

const reported = z.object({
  details: z.object({
    callbacks: z.object({
      pending: z.number(),
      failing: z.array(
        z.object({ key: z.string(), failures: z.number(), lastError: z.string().nullable() }),
      ),
      disabled: z.array(z.object({ key: z.string(), disabledAt: z.string().nullable() })),
    }),
  }),
});

/** The operator's paths of a process on this database. */
const serve = async ({ db }: TestDatabase) => {
  const health = watchHealth({
    progress: async () => ({ pipelines: [], reader: { next: null, mark: null, tip: null } }),
    details: evmDetails({ db, projects: [] }),
    version: "1",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const metrics = createMetrics(health);
  evmGauges(metrics.registry, health);
  const server = await createServer({
    parts: [],
    logger: createLogger({ level: "silent", remedyOf }),
    version: "1",
    health,
    metrics,
    unready: async () => null,
    trustProxy: false,
  });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  return {
    callbacks: async () => {
      const answer = await fetch(`${url}/health`);
      expect(answer.status).toBe(200);
      return reported.parse(await answer.json()).details.callbacks;
    },
    /** Samples without labels whose name begins so. */
    figures: async (prefix: string) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const samples = text.split("\n").filter((line) => line.startsWith(prefix));
      return Object.fromEntries(samples.map((line) => line.split(" ")));
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await health[Symbol.asyncDispose]();
    },
  };
};

const GONE = "project:gone";

test("a failing address and a disabled one show in /health and /metrics by name and number", async () => {
  await using broken = await startReceiver(() => 500);
  await using gone = await startReceiver(() => 410);
  const retrySeconds = Array.from({ length: 50 }, () => 0.1);
  await using sender = await startSender(broken.url, { retrySeconds });
  await using service = await serve(sender.database);
  expect(await service.callbacks()).toMatchObject({ pending: 0, failing: [], disabled: [] });
  expect(await service.figures("holderbook_callback_endpoints_")).toEqual({
    holderbook_callback_endpoints_failing: "0",
    holderbook_callback_endpoints_disabled: "0",
  });

  await registerEndpoint(sender.database, LOCAL, { key: GONE, url: gone.url });
  await sender.send([{ id: "evt_1" }, { id: "evt_2", endpoint: GONE }]);
  const { failing, disabled } = await until(
    "one failing and one disabled",
    service.callbacks,
    (seen) => seen.failing.length > 0 && seen.disabled.length > 0,
  );
  expect(failing).toEqual([
    { key: ENDPOINT, failures: expect.any(Number), lastError: "answered 500" },
  ]);
  expect(failing[0]?.failures).toBeGreaterThanOrEqual(3);
  expect(disabled).toEqual([{ key: GONE, disabledAt: expect.any(String) }]);
  // Figures are shared for a second.
  const figures = await until(
    "figures that tell of them",
    () => service.figures("holderbook_callback"),
    (seen) => seen.holderbook_callback_endpoints_failing !== "0",
  );
  expect(figures).toMatchObject({
    holderbook_callbacks_pending: "1",
    holderbook_callback_endpoints_failing: "1",
    holderbook_callback_endpoints_disabled: "1",
  });
  for (const page of ["transfer-events", "callbacks"]) {
    const text = await readFile(new URL(`../../docs/how-to/${page}.md`, import.meta.url), "utf8");
    const named = new Set(text.match(/holderbook_callback\w*/g));
    expect([page, [...named].sort()]).toEqual([page, Object.keys(figures).sort()]);
  }
});

test("however many addresses are disabled, a failing one is shown beside them", async () => {
  await using sender = await startSender("http://127.0.0.1:9/", { delivering: false });
  await sender.database.sql`
    insert into callback_endpoints (key, url, disabled_at, failing_since, failures)
    select 'project:off-' || n, 'http://127.0.0.1:9/', now(), now() - interval '1 day', 1
    from generate_series(1, ${MOST_ENDPOINTS + 50}) as n`;
  await sender.database.sql`
    update callback_endpoints set failures = 5, failing_since = now() where key = ${ENDPOINT}`;
  const { failing, disabled } = await callbackFigures(sender.database);
  expect(failing).toMatchObject([{ key: ENDPOINT, failures: 5, disabledAt: null }]);
  expect(disabled).toHaveLength(MOST_ENDPOINTS);
});
