// @module-tag thorough
/** The steps of "Retention" in `docs/how-to/operations.md`, on the demo ledger and a database with two roles. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { deliverLongAgo, storedCallbacks } from "../callbacks/old-messages.ts";
import { callbackOf, ENDPOINT, LOCAL } from "../callbacks/sender.ts";
import { runCommand } from "../commands/run-command.ts";
import { eventually, type Settings, startProgram, temporaryFolder } from "../service/process.ts";
import { office } from "../ta/office.ts";
import { endLongAgo, storedRequests } from "../ta/old-requests.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

const OLD = "te_8f2a41c07be93d65a1f0c4e7b82d9635e0a7c1d4";
const YOUNG = "te_0000000000000000000000000000000000000001";

const PII_KEY = randomBytes(32);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let roles: TwoRoles;
let settings: Settings;

beforeAll(async () => {
  folder = await temporaryFolder();
  roles = await twoRoles(inject("postgresUrl"));
  settings = {
    ...roles.settings,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    PII_KEYS: `test:${PII_KEY.toString("base64")}`,
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "50",
  };
  expect(await runCommand(["migrate"], settings)).toMatchObject({ code: 0 });
  const { superuser } = roles;
  await registerEndpoint(superuser, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:1/" });
  await superuser.transaction((tx) =>
    enqueueCallbacks(
      tx,
      [OLD, YOUNG].map((id) => callbackOf({ id })),
    ),
  );
  await deliverLongAgo(superuser.sql, [OLD], 91);
  await deliverLongAgo(superuser.sql, [YOUNG], 89);
});
afterAll(async () => {
  await roles?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

test("old callbacks and requests are removed by the service's role, younger ones stay, and all evidence is there", async () => {
  const { superuser } = roles;
  const { newKey, result } = office(superuser, PII_KEY);
  const key = await newKey();
  const [old, young] = [await result(key), await result(key)];
  await endLongAgo(superuser.sql, [old], 401);
  await endLongAgo(superuser.sql, [young], 399);

  let url = "";
  const take = (step: readonly Step[], code = 0) =>
    typed(step, { settings: { ...settings, URL: url }, cwd: folder.path }, code);
  const steps = await stepsOfSection("docs/how-to/operations.md", "Retention");
  await take(steps.next("Look"));
  await take(steps.next("Set"));
  expect(steps.next("Start").map(({ command }) => command)).toEqual(["npm start\n"]);
  await using service = startProgram(["start"], settings, { cwd: folder.path });
  [, url = ""] = await service.sees(/Health +(http\S+)\/health/);
  const stored = async () => ({
    callbacks: (await storedCallbacks(superuser.sql)).messages,
    requests: (await storedRequests(superuser.sql)).requests,
  });
  await eventually("the old ones to be removed", async () => {
    const seen = await stored();
    return seen.callbacks.length === 1 && seen.requests.length === 1 ? { done: true } : { seen };
  });
  expect(await stored()).toEqual({ callbacks: [YOUNG], requests: [young] });
  expect(service.printed.stderr).toContain("retention removed old rows");
  await take(steps.next("Count"));
  await take(steps.next("Ask"), 2);
  await take(steps.next("Verify"));
  expect(steps.left()).toEqual([]);
}, 120_000);
