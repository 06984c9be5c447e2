import { createServer } from "node:net";
import { expect, test } from "vitest";
import { shownForeign, shownJson, shownLines } from "../../src/logging/foreign-text.ts";
import { createLogger } from "../../src/logging/logger.ts";
import { terminalLines } from "../../src/logging/terminal-lines.ts";
import { runCommand } from "../commands/run-command.ts";

const CLEARS = "\u001b[2J\u009b2J\u202e";
const PLAIN = /^[\n\x20-\x7e→…]*$/;

test("control and format characters are shown by number, in JSON by JSON's escapes", () => {
  expect(shownForeign(`a${CLEARS}\nb`)).toBe("a\\u{1b}[2J\\u{9b}2J\\u{202e}\\u{a}b");
  expect(shownLines("failed\nholderbook: all holds\r")).toBe(
    "failed\n  holderbook: all holds\\u{d}",
  );
  const value = { text: `${CLEARS}\u{e0001}\n` };
  const json = shownJson(JSON.stringify(value));
  expect(json).toMatch(PLAIN);
  expect(JSON.parse(json)).toEqual(value);
});

test("a command's error cannot control the terminal through a foreign name", async () => {
  const ran = await runCommand(["inspect", `${CLEARS}\nholderbook: all holds.chk`], {});
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(PLAIN);
  expect(ran.stderr).toContain("\\u{1b}[2J\\u{9b}2J\\u{202e}");
  expect(ran.stderr).not.toMatch(/^holderbook: all/m);
});

test("doctor's output cannot control the terminal through another server's text", async () => {
  const said = `${CLEARS}\nok    database      it is there`;
  const fields = Buffer.from(`SFATAL\0VFATAL\0C28000\0M${said}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([Buffer.from("E"), length, fields])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const settings = { DATABASE_URL: `postgres://a:b@127.0.0.1:${address.port}/c?sslmode=disable` };
  try {
    for (const args of [[], ["--json"]]) {
      const ran = await runCommand(["doctor", "--only", "database", ...args], settings);
      expect(ran.code).toBe(1);
      expect(ran.stdout).toMatch(PLAIN);
      expect(ran.stdout).not.toMatch(/^ok/m);
      expect(ran.stdout).toContain("it is there");
    }
  } finally {
    server.close();
  }
});

test("a JSON log line escapes them as JSON does, and keeps its meaning", () => {
  let text = "";
  const write = (lines: string) => {
    text += lines;
  };
  const logger = createLogger({ level: "info", remedyOf: () => "stop", write });
  logger.info({ reason: `${CLEARS}\u2028` }, `failed: ${CLEARS}`);
  logger.warn("the second line");
  expect(text).toMatch(PLAIN);
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { reason: `${CLEARS}\u2028`, msg: `failed: ${CLEARS}` },
    { msg: "the second line" },
  ]);
});

test("a log line for people cannot control the terminal through an error", async () => {
  const { write } = process.stderr;
  let text = "";
  try {
    process.stderr.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
      text += Buffer.from(chunk).toString();
      const done = rest.findLast((one) => typeof one === "function");
      if (typeof done === "function") done();
      return true;
    };
    const lines = terminalLines({ isTerminal: false });
    lines.write(
      JSON.stringify({ level: "warn", msg: `failed: ${CLEARS}\n`, err: { message: CLEARS } }),
    );
    await expect.poll(() => text, { timeout: 30_000 }).toContain("failed");
  } finally {
    process.stderr.write = write;
  }
  expect(text).toMatch(PLAIN);
});
