/** Callback addresses of the assets file, held to what the deployment allows. */
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { assetsOf } from "../../src/service/assets.ts";
import { ConfigError } from "../../src/settings/config-error.ts";
import { readConfig } from "../../src/settings/read-config.ts";
import { runCommand } from "../commands/run-command.ts";
import { temporaryFolder } from "./process.ts";

const token = (name: string, callbackUrl: string) => ({
  name,
  ledger: "sui",
  coinType: `0x2::${name}::COIN`,
  whitelistGroupId: 1,
  ta: { callbackUrl },
});

const FILE = JSON.stringify({
  projects: [
    { name: "fine", callbackUrl: "https://hooks.example/x", tokens: [] },
    {
      name: "acme",
      callbackUrl: "https://hooks.example:8443/x",
      tokens: [token("one", "https://127.0.0.1/x"), token("two", "https://u:p@hooks.example/")],
    },
    { name: "plain", callbackUrl: "http://hooks.example/", tokens: [] },
  ],
});

const FAULTS = [
  "projects[1].callbackUrl: the callback address uses port 8443; open are 443",
  "projects[1].tokens[0].ta.callbackUrl: the callback address leads to a network that is not public",
  "projects[1].tokens[1].ta.callbackUrl: the callback address must not hold a user name or password",
  "projects[2].callbackUrl: the callback address must begin with https://",
];

test("every callback address that is not allowed is named with its path inside the file, before anything starts", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "assets.json");
  await writeFile(file, FILE);
  const data = join(folder.path, "data");
  const settings = { ASSETS_FILE: file, DATA_DIR: data, DEMO_HISTORY: "10", LOG_LEVEL: "fatal" };
  for (const args of [["start"], ["serve", "rest"]]) {
    const { code, stdout, stderr } = await runCommand(args, settings);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    const lines = FAULTS.map((fault) => `${file} at ${fault}`).join("\n");
    expect(stderr).toBe(`holderbook: AssetsFileError: ${lines}\n`);
    await expect(access(join(data, "postgres"))).rejects.toThrow("ENOENT");
  }
});

test("CALLBACK_PORTS opens exactly the ports it lists, also in the assets file", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "assets.json");
  const projects = (port: string) => ({
    projects: [{ name: "acme", callbackUrl: `https://hooks.example${port}/x`, tokens: [] }],
  });
  const read = async (port: string, CALLBACK_PORTS?: string) => {
    await writeFile(file, JSON.stringify(projects(port)));
    return assetsOf(readConfig({ CALLBACK_PORTS }), file);
  };
  await read("");
  await expect(read(":8443")).rejects.toThrow("open are 443");
  await read(":8443", "443, 8443");
  await read("", "443,8443");
  await expect(read("", "8443")).rejects.toThrow("uses port 443; open are 8443");
  for (const wrong of ["https", "443;8443", "0", "65536", "443,"]) {
    expect(() => readConfig({ CALLBACK_PORTS: wrong })).toThrow(ConfigError);
    expect(() => readConfig({ CALLBACK_PORTS: wrong })).toThrow(/^CALLBACK_PORTS: .* 443,8443/);
  }
});
