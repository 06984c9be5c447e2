/** The demo as `start` runs it: its key for this machine, and the guided tour of a whole circle. */
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { pageSettingsAnswer, sessionAnswer } from "../../src/operator/page-settings.ts";
import { tourAnswer, tourBegunAnswer } from "../../src/operator/tour.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let program: Program;
let url = "";

beforeAll(async () => {
  [database, folder] = await Promise.all([freshDatabase(), temporaryFolder()]);
  program = startProgram(["start"], {
    PORT: "0",
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "60",
    DEMO_CHECKPOINTS_PER_SECOND: "20",
  });
  [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  await program.sees(/Ctrl-C/);
}, 120_000);

afterAll(async () => {
  await program?.[Symbol.asyncDispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const get = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await fetch(`${url}${path}`, { headers });
  return { status: response.status, json: (await response.json()) as unknown };
};

const begin = (headers: Readonly<Record<string, string>> = {}, body = "{}") =>
  fetch(`${url}/demo/tour`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

test("the page is told that this is the demo, and given a key that reads and does nothing else", async () => {
  const settings = pageSettingsAnswer.parse((await get("/page/settings")).json);
  expect(settings).toMatchObject({ network: "demo", explorer: null, demo: { tour: true } });
  expect(settings.chain).not.toBeNull();
  const key = { "x-api-key": settings.demo?.key ?? "" };
  expect(sessionAnswer.parse((await get("/session", key)).json).kind).toBe("graphql");
  expect((await get("/operator/summary", key)).status).toBe(403);
  const forwarded = await get("/page/settings", { "x-forwarded-for": "203.0.113.7" });
  expect(pageSettingsAnswer.parse(forwarded.json).demo).toBeNull();
});

test("a tour whitelists a new wallet for nobody, and is followed from the request to the callback", async () => {
  const response = await begin();
  expect(response.status).toBe(202);
  const { tourId, requestId, wallet, asset } = tourBegunAnswer.parse(await response.json());
  expect(asset).toBe("demo-a");
  const tour = await eventually("the end of the tour", async () => {
    const seen = tourAnswer.parse((await get(`/demo/tour/${tourId}`)).json);
    return seen.done && seen.holderEvent !== null ? { done: seen } : { seen };
  });
  expect(tour.request.status).toBe("SUCCESS");
  expect(tour.request.history.at(0)?.status).toBe("QUEUED");
  expect(tour.request.history.at(-1)?.status).toBe("SUCCESS");
  expect(tour.txId).not.toBeNull();
  expect(tour.holderEvent).toMatchObject({
    eventType: "address_joined_group",
    address: wallet,
    groupId: "1",
  });
  expect(BigInt(tour.checkpoint ?? 0)).toBeGreaterThan(0n);
  expect(tour.delivery).toMatchObject({ id: `ta-${requestId}`, state: "delivered", attempts: 1 });
}, 60_000);

test("nobody else begins or follows a tour", async () => {
  for (const headers of [
    { origin: "https://attacker.example" },
    { origin: "null" },
    { "x-forwarded-for": "127.0.0.1" },
    { "sec-fetch-site": "cross-site" },
  ]) {
    expect((await begin(headers)).status).toBe(403);
    expect((await get(`/demo/tour/${crypto.randomUUID()}`, headers)).status).toBe(403);
  }
  expect((await get(`/demo/tour/${crypto.randomUUID()}`)).status).toBe(404);
  expect((await begin({}, '{"wallet":"0x1"}')).status).toBe(400);
  expect((await begin({ "content-type": "text/plain" })).status).toBe(400);
});

test("what the page asks is described with the other interfaces", async () => {
  const { json } = await get("/openapi.json");
  const document = z.looseObject({ paths: z.record(z.string(), z.unknown()) }).parse(json);
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining([
      "/page/settings",
      "/session",
      "/exports/cap-table",
      "/exports/statement",
      "/proofs/{checkpoint}",
      "/operator/requests/{id}",
      "/operator/deliveries/{id}/redeliver",
      "/operator/receivers/{id}/test-event",
    ]),
  );
});
