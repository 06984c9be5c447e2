/** How log lines look, and which of them there are. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { logFormat } from "../../src/logging/logger.ts";
import { readConfig } from "../../src/settings/read-config.ts";
import { serve } from "../http/service.ts";

/** Writes a line as a process would whose standard error is no terminal. */
const written = (format: string, traceId: string) =>
  spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { createLogger, openTerminal } = await import("${join(import.meta.dirname, "../../src/logging/logger.ts")}");
       const terminal = await openTerminal(${format});
       const traceId = () => ${traceId};
       createLogger({ level: "info", remedyOf: () => "stop", terminal, traceId }).info({ pipeline: "p" }, "running");`,
    ],
    { encoding: "utf8" },
  ).stderr;

test("lines are JSON when standard error is not a terminal, and readable without colours on request", () => {
  const json: unknown = JSON.parse(written("undefined", '"4bf9"'));
  expect(json).toMatchObject({ level: "info", pipeline: "p", msg: "running", traceId: "4bf9" });
  expect(JSON.parse(written('"json"', "undefined"))).not.toHaveProperty("traceId");
  expect(written('"pretty"', "undefined")).toMatch(
    /^\[\d\d:\d\d:\d\d\] INFO: running \{"pipeline":"p"\}\n$/,
  );
});

test("LOG_FORMAT is pretty or json, and takes precedence over the terminal", () => {
  expect(readConfig({}).logFormat).toBeUndefined();
  expect(logFormat(readConfig({ LOG_FORMAT: "json" }).logFormat)).toBe("json");
  expect(logFormat(readConfig({ LOG_FORMAT: "pretty" }).logFormat)).toBe("pretty");
  expect(() => readConfig({ LOG_FORMAT: "colourful" })).toThrow(
    /LOG_FORMAT: must be one of pretty, json/,
  );
});

test("in a terminal successful reads have no log line, and everything else has", async () => {
  const ask = async (url: string) => {
    await fetch(`${url}/things/1`);
    await fetch(`${url}/health`);
    await fetch(`${url}/graphql`, { method: "POST" });
    await fetch(`${url}/nowhere`);
    await fetch(`${url}/things`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    await fetch(`${url}/broken`);
  };
  const routes = (log: readonly Record<string, unknown>[]) =>
    log.flatMap(({ msg, method, route }) =>
      msg === "request" || msg === "request failed" ? [`${method} ${route}`] : [],
    );
  await using quiet = await serve({ listsReads: false });
  await ask(quiet.url);
  await expect
    .poll(() => routes(quiet.log))
    .toEqual(["GET unknown", "POST /things", "GET /broken"]);
  await using whole = await serve();
  await ask(whole.url);
  await expect.poll(() => routes(whole.log)).toHaveLength(6);
});
