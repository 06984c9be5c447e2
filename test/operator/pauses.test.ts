/** Pausing and resuming over HTTP and by command, and what operators see of it. */
import { expect, test } from "vitest";
import { allActs } from "../../src/audit/sequence/acts.ts";
import {
  operatorReceiversAnswer,
  operatorSummaryAnswer,
  pauseAnswer,
  pausesAnswer,
} from "../../src/operator/answers.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { ENDPOINT, startSender } from "../callbacks/sender.ts";
import { runCommand } from "../commands/run-command.ts";
import { until } from "../lanes/until.ts";
import type { TestDatabase } from "../postgres.ts";
import { type OperatorApi, serveOperator } from "./service.ts";

const RECEIVER = `/operator/pauses/receiver/${encodeURIComponent(ENDPOINT)}`;
const PIPELINE = "/operator/pauses/pipeline/token_activity";

const put = (api: OperatorApi, path: string, body: unknown = {}, key?: string) =>
  api.send("PUT", path, body, key);

const actsOf = async (database: TestDatabase) => {
  const acts = [];
  for await (const act of allActs(database.sql)) acts.push(act);
  return acts;
};

test("a pause has who, when and why, holds for every reader of the database, and both its ends are acts", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const { database } = sender;
  await using api = await serveOperator(database);
  const first = await put(api, RECEIVER, { reason: "they move house" });
  expect(first.status).toBe(200);
  const pause = pauseAnswer.parse(first.json);
  expect(pause).toMatchObject({ kind: "receiver", name: ENDPOINT, reason: "they move house" });
  expect(pause.by).toMatch(/^key key_[0-9a-f]{12}$/);
  expect((await put(api, PIPELINE)).status).toBe(200);
  // Another reason replaces the reason; the same one changes nothing.
  await put(api, RECEIVER, { reason: "they moved" });
  const again = pauseAnswer.parse((await put(api, RECEIVER, { reason: "they moved" })).json);
  expect(again).toMatchObject({ reason: "they moved", since: pause.since });

  const listed = pausesAnswer.parse((await api.get("/operator/pauses")).json);
  expect(listed.pauses.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    "pipeline token_activity",
    `receiver ${ENDPOINT}`,
  ]);
  const receivers = operatorReceiversAnswer.parse((await api.get("/operator/receivers")).json);
  expect(receivers.items).toMatchObject([
    { state: "paused", reason: "they moved", since: pause.since },
  ]);
  const summary = operatorSummaryAnswer.parse((await api.get("/operator/summary")).json);
  expect(summary.receivers).toMatchObject({ open: 0, paused: 1 });
  const refused = await api.post(`/operator/receivers/${encodeURIComponent(ENDPOINT)}/test-event`);
  expect(refused.status).toBe(409);

  await sender.send([{ id: "waits" }]);
  expect((await api.send("DELETE", RECEIVER)).json).toEqual({
    kind: "receiver",
    name: ENDPOINT,
    resumed: true,
  });
  await sender.settled();
  expect(receiver.accepted()).toEqual(["waits"]);
  const { ended } = pausesAnswer.parse((await api.get("/operator/pauses")).json);
  expect(ended).toMatchObject([{ name: ENDPOINT, reason: "they moved", by: pause.by }]);

  const acts = await actsOf(database);
  expect(acts.map(({ command }) => command)).toEqual([
    "pause receiver",
    "pause pipeline",
    "pause receiver",
    "resume receiver",
  ]);
  expect(acts[0]).toMatchObject({ scope: "project", details: { name: ENDPOINT } });
  // The operators' words are not published.
  expect(JSON.stringify(acts)).not.toContain("move");
});

test("what is not there cannot be paused or resumed, and the refusal says what is", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  await using api = await serveOperator(sender.database);
  const refusals = [
    [
      await put(api, "/operator/pauses/pipeline/none"),
      404,
      /there are token_activity, .*transfer_events/,
    ],
    [await put(api, "/operator/pauses/asset/none"), 404, /no asset none/],
    [await put(api, "/operator/pauses/receiver/none"), 404, /no receiver none/],
    [await put(api, "/operator/pauses/engine/none"), 404, /pipeline, asset, receiver/],
    [await put(api, PIPELINE, { why: "x" }), 400, /why: no such parameter/],
    [await put(api, PIPELINE, { reason: "x".repeat(501) }), 400, /at most 500 characters/],
    [await put(api, PIPELINE, {}, api.keys.graphql), 403, /operator/],
    [await api.send("DELETE", PIPELINE), 404, /no pipeline of this name is paused/],
  ] as const;
  for (const [{ status, text }, expected, why] of refusals) {
    expect(status, text).toBe(expected);
    expect(text).toMatch(why);
  }
  expect(await actsOf(sender.database)).toEqual([]);
});

test("a receiver is failing from its first refusal on", async () => {
  await using receiver = await startReceiver(() => 500);
  await using sender = await startSender(receiver.url, { retrySeconds: [3_600] });
  await using api = await serveOperator(sender.database);
  const seen = async () =>
    operatorReceiversAnswer.parse((await api.get("/operator/receivers")).json).items[0];
  expect(await seen()).toMatchObject({ state: "open", since: null });
  await sender.send([{ id: "refused" }]);
  const failing = await until("a refusal", seen, (item) => item?.failures === 1);
  expect(failing).toMatchObject({ state: "failing", reason: expect.stringContaining("500") });
});

test("commands pause, list and resume; each says what it did", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const { database } = sender;
  const run = (...args: readonly string[]) => runCommand(args, { DATABASE_URL: database.url });
  const paused = await run("pause", "pipeline", "role_changes", "--reason", "a look");
  expect(paused).toMatchObject({ code: 0, stdout: "" });
  expect(paused.stderr).toContain("`resume pipeline role_changes` ends it");
  await run("pause", "receiver", ENDPOINT);
  const { stdout } = await run("pause", "list", "--json");
  expect(JSON.parse(stdout)).toMatchObject([
    {
      kind: "pipeline",
      name: "role_changes",
      reason: "a look",
      by: expect.stringMatching(/ on ./),
    },
    { kind: "receiver", name: ENDPOINT, reason: null },
  ]);
  expect((await run("resume", "pipeline", "role_changes")).code).toBe(0);
  expect((await run("pause", "list", "--ended")).stdout).toContain('"name":"role_changes"');
  const twice = await run("resume", "pipeline", "role_changes");
  expect(twice.code).toBe(2);
  expect(twice.stderr).toContain("`pause list` shows what is");
  expect((await run("pause", "pipeline", "none")).stderr).toContain("there are token_activity");
});
