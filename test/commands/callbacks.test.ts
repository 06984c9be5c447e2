/** `holderbook callbacks`: an operator sees what a project was sent, and sends it again. */
import { expect, test } from "vitest";
import { z } from "zod";
import { startReceiver } from "../callbacks/receiver.ts";
import { startSender } from "../callbacks/sender.ts";
import { runCommand } from "./run-command.ts";

const delivery = z.object({
  id: z.string(),
  status: z.string(),
  attempts: z.array(z.object({ statusCode: z.int().nullable() })),
});

test("a project's callbacks are listed, and resent after its address was disabled", async () => {
  let status = 410;
  await using receiver = await startReceiver(() => status);
  await using sender = await startSender(receiver.url);
  await sender.send([{ id: "one" }, { id: "two" }]);
  await sender.settled();
  const run = (...args: readonly string[]) =>
    runCommand(["callbacks", ...args], { DATABASE_URL: sender.database.url });
  const listed = async () => {
    const { code, stdout, stderr } = await run("list", "--project", "acme");
    expect(code, stderr).toBe(0);
    return stdout
      .trim()
      .split("\n")
      .map((line) => delivery.parse(JSON.parse(line)));
  };
  expect(await listed()).toMatchObject([
    { id: "one", status: "disabled", attempts: [{ statusCode: 410 }] },
    { id: "two", status: "disabled", attempts: [] },
  ]);

  status = 204;
  expect(await run("enable", "--project", "acme", "--resend")).toMatchObject({ code: 0 });
  await sender.settled();
  expect(await run("redeliver", "two", "--project", "acme")).toMatchObject({ code: 0 });
  await sender.settled();
  expect(receiver.received.map(({ id }) => id)).toEqual(["one", "one", "two", "two"]);
  expect((await listed()).map(({ status }) => status)).toEqual(["delivered", "delivered"]);

  // Another project's messages are out of reach.
  expect(await run("redeliver", "two", "--project", "other")).toMatchObject({ code: 2 });
}, 120_000);

test("the list says when there are more and where they begin, and filters by status", async () => {
  await using receiver = await startReceiver(({ id }) => (id.startsWith("bad") ? 500 : 204));
  await using sender = await startSender(receiver.url, { retrySeconds: [] });
  const ids = ["a", "bad-1", "b", "bad-2", "c"];
  for (const id of ids) await sender.send([{ id, lane: id }]);
  await sender.settled();
  const list = async (...args: readonly string[]) => {
    const all = ["callbacks", "list", "--project", "acme", ...args];
    const { code, stdout, stderr } = await runCommand(all, { DATABASE_URL: sender.database.url });
    expect(code, stderr).toBe(0);
    const lines = stdout.split("\n").filter((line) => line !== "");
    return { ids: lines.map((line) => delivery.parse(JSON.parse(line)).id), stderr };
  };
  expect(await list("--limit", "2")).toEqual({
    ids: ["a", "bad-1"],
    stderr: "more: --after bad-1\n",
  });
  expect(await list("--limit", "3", "--after", "bad-1")).toEqual({
    ids: ["b", "bad-2", "c"],
    stderr: "",
  });
  expect(await list("--status", "failed", "--limit", "1")).toEqual({
    ids: ["bad-1"],
    stderr: "more: --after bad-1\n",
  });
  expect((await list("--status", "delivered")).ids).toEqual(["a", "b", "c"]);
  expect((await list("--status", "pending")).ids).toEqual([]);
}, 240_000);
