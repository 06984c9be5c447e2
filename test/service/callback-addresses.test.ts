/** Callback addresses of the assets file, as processes that are started with it keep to them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { changeEndpoints, registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { callbackOf, LOCAL } from "../callbacks/sender.ts";
import { runCommand } from "../commands/run-command.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { startProgram, temporaryFolder } from "./process.ts";

test("a callbackUrl removed from the assets file gets nothing more until it is back", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using acme = await startReceiver();
  await using other = await startReceiver();
  const project = (name: string, callbackUrl?: string) => ({
    name,
    tokens: [],
    ...(callbackUrl !== undefined && { callbackUrl }),
  });
  const assetsFile = async (name: string, acmeUrl?: string) => {
    const path = join(folder.path, name);
    const projects = [project("acme", acmeUrl), project("other", other.url)];
    await writeFile(path, JSON.stringify({ projects }));
    return path;
  };
  const [before, after] = [
    await assetsFile("before.json", acme.url),
    await assetsFile("after.json"),
  ];
  const settings = (file: string) => ({
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    ASSETS_FILE: file,
    ALLOW_PRIVATE_CALLBACKS: "true",
    DEMO_HISTORY: "0",
    DEMO_CHECKPOINTS_PER_SECOND: "1",
    PORT: "0",
  });
  await changeEndpoints(database, async (tx) => {
    await registerEndpoint(tx, LOCAL, { key: "project:acme", url: acme.url });
    await registerEndpoint(tx, LOCAL, { key: "project:other", url: other.url });
    const ids = ["one", "two"].map((id) => callbackOf({ id, endpoint: "project:acme" }));
    await enqueueCallbacks(tx, [...ids, callbackOf({ id: "else", endpoint: "project:other" })]);
  });

  {
    await using index = startProgram(["index"], settings(after));
    await until(
      "the other project's callback",
      () => ({ accepted: other.accepted(), printed: index.printed.stderr.slice(-2_000) }),
      ({ accepted }) => accepted.length === 1,
      60_000,
    );
    expect(index.printed.stderr).toMatch(/project:acme.*no longer configured/);
    // A process that only serves, with another file, changes nothing.
    await using serve = startProgram(["serve", "rest"], settings(before));
    await until(
      "the server",
      () => serve.printed.stderr,
      (printed) => printed.includes('"serving"'),
      60_000,
    );
    const list = await runCommand(["callbacks", "list", "--project", "acme"], settings(before));
    expect(list.code, list.stderr).toBe(0);
    expect(
      list.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { id: "one", status: "withdrawn", url: acme.url },
      { id: "two", status: "withdrawn" },
    ]);
    expect(list.stderr).toMatch(/is withdrawn since .*Z: the configuration no longer names it/);
    const again = ["callbacks", "redeliver", "one", "--project", "acme"];
    expect(await runCommand(again, settings(before))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("once its address is configured again"),
    });
    expect(acme.received).toEqual([]);
  }

  await using index = startProgram(["index"], settings(before));
  await until(
    "what had waited",
    () => ({ accepted: acme.accepted(), printed: index.printed.stderr.slice(-2_000) }),
    ({ accepted }) => accepted.length === 2,
    60_000,
  );
  expect(acme.accepted()).toEqual(["one", "two"]);
}, 240_000);
