/** What `start` prints is pasted by a newcomer, in another shell, as it stands. */
import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startReceiver } from "../callbacks/receiver.ts";
import { freePort } from "../lanes/redis-server.ts";
import { type Program, startProgram, temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The commands of the transfer agent's circle, as printed. */
const printedCircle = async (program: Program): Promise<string> => {
  const [, block = ""] = await program.sees(
    /\nWhitelist a wallet[\s\S]*?:\n\n([\s\S]*?)\n\nCtrl-C/,
  );
  return `${block}\n`;
};

/** Types a text into a shell that was opened in the project's folder and knows nothing of the first. */
const paste = async (text: string): Promise<string> => {
  const shell = spawn("bash", {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  shell.stdin.end(text);
  await new Promise((resolve) => shell.once("close", resolve));
  return said;
};

test("the printed commands, pasted into a second shell, show the whole round up to the callback", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "a newcomer's data");
  const port = await freePort();
  const settings = { DATA_DIR: dataDir, PORT: String(port), DEMO_HISTORY: "50" };
  await using program = startProgram(["start"], settings);
  const block = await printedCircle(program);
  expect(block).toContain(`http://localhost:${port}/`);

  const said = await paste(block);
  const [, wallet] = /wallet=(0x[0-9a-f]{64})/.exec(block) ?? [];
  const [, requestId] = /"requestId":"([0-9a-f-]{36})"/.exec(said) ?? [];
  const shown = [
    `{"requestId":"${requestId}","status":"QUEUED",[^\n]*} 201\n`,
    `{"requestId":"${requestId}","status":"SUCCESS",[^\n]*"history":[^\n]*signed transaction[^\n]*executed at[^\n]*\n`,
    `{"address":"${wallet}","isWhitelisted":true,[^\n]*}\n`,
    `{"eventType":"holder_address_added","address":"${wallet}",[^\n]*}\n`,
    `{"eventType":"address_joined_group","address":"${wallet}",[^\n]*"groupId":"1",[^\n]*}\n`,
    `{\n  "id": "ta-${requestId}",[\\s\\S]*"status": "SUCCESS",[\\s\\S]*}\n`,
  ];
  expect(said).toMatch(new RegExp(`^${shown.join("")}$`));

  // The only file with a secret is the service's own, and no other user may read it.
  expect((await stat(join(dataDir, "demo-ta-key.json"))).mode & 0o777).toBe(0o600);
  expect(block).not.toMatch(/[^|] *> *\S+\.json/);
}, 240_000);

test("with the user's own hook the printed commands send it callbacks only, and a key is made where none is shown", async () => {
  await using folder = await temporaryFolder();
  await using hook = await startReceiver();
  const dataDir = join(folder.path, "data");
  const settings = { DATA_DIR: dataDir, PORT: "0", DEMO_HISTORY: "50" };
  // From now on the operator has keys of their own.
  const own = await runCommand(["keys", "create", "--kind", "graphql"], settings);
  expect(own.code, own.stderr).toBe(0);
  await using program = startProgram(["start"], { ...settings, DEMO_CALLBACK_URL: hook.url });
  const block = await printedCircle(program);
  expect(block).toContain(`key=$(DATA_DIR=${dataDir} npm run --silent holderbook -- keys create`);

  const said = await paste(block);
  expect(said).toMatch(/"eventType":"address_joined_group"/);
  expect(said.trim().split("\n").at(-1)).toMatch(/"status":"delivered",.*"statusCode":204/);
  expect(hook.received.map(({ method }) => method)).toEqual(["POST"]);
}, 240_000);
