/** The rule of `--json`: every command that lists has it, prints one document, and no amount is a number. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { z } from "zod";
import { wholeProgram } from "../../src/commands/command-line.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

/** How each command that lists is asked here; `COIN` stands for a coin type. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  status: [],
  doctor: ["--only", "program,settings,database,migrations,indexing,keys"],
  "cap-table": ["--coin", "COIN"],
  reconcile: [],
  digest: [],
  packages: [],
  acts: [],
  "quarantine list": [],
  "quarantine show": ["COIN"],
  "evm list": [],
  "keys list": [],
  "pause list": [],
  "callbacks list": ["--project", "acme"],
  "labels list": [],
  "ta requests": ["--limit", "5"],
};

/** Those that do something, print one thing, or say whether it is right. */
const OTHERS = [
  "start|index|serve|inspect|verify|compare|statement|statement verify|audit-pack|audit-pack verify|audit-pack papers",
  "migrate|rebuild|replay drop|replay swap|packages add|evm reread|keys create|keys callback-url|keys revoke|keys rotate",
  "keys revoke-deployment-key",
  "callbacks redeliver|callbacks enable|callbacks rotate|ta sign|ta request",
  "pii show|pii rotate|pii delete|demo write|demo link",
  "labels import|labels export|labels remove",
  "quarantine retry|quarantine resolve",
  "assets check|assets reload",
  "pause pipeline|pause asset|pause receiver|resume pipeline|resume asset|resume receiver",
  "archive export|archive verify|archive import|archive detach|archive attach|prove complete|backfill|work backfill",
].flatMap((line) => line.split("|"));

/** What may be a number: it is never an amount, and never large. */
const NUMBERS = new Set(
  "ageSeconds|failed|warned|holderCount|decimals|coins|more|groupId|durationMs|chainId".split("|"),
);

const ledgerFile = z.object({ coinTypes: z.array(z.object({ coinType: z.string() })) });

type Runnable = { readonly path: string; readonly command: Command };

/** Commands that do something by themselves: those without others below, and those named above. */
const runnable = (commands: readonly Command[], before = ""): readonly Runnable[] =>
  commands.flatMap((command) => {
    const path = `${before}${command.name()}`;
    const own = command.commands.length === 0 || path in LISTS || OTHERS.includes(path);
    return [...(own ? [{ path, command }] : []), ...runnable(command.commands, `${path} `)];
  });

test("every command is declared as listing or not, and each listing one takes --json", async () => {
  const all = runnable((await wholeProgram()).commands);
  expect(all.map(({ path }) => path).toSorted()).toEqual(
    [...Object.keys(LISTS), ...OTHERS].toSorted(),
  );
  for (const { path, command } of all) {
    const takes = command.options.some(({ long }) => long === "--json");
    if (path in LISTS || command.name() === "list")
      expect({ path, takes }).toEqual({ path, takes: true });
  }
});

test("each listing command prints one JSON document, in which no amount is a number", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const ledger = join(folder.path, "ledger");
  await runCommand(["demo", "write", "--dir", ledger, "--checkpoints", "120", "--seed", "5"], {});
  const settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${ledger}`,
    DATA_DIR: join(folder.path, "data"),
  };
  expect((await runCommand(["index", "--last", "119"], settings)).code).toBe(0);
  await runCommand(["keys", "create", "--kind", "graphql"], settings);
  const { coinTypes } = ledgerFile.parse(
    JSON.parse(await readFile(join(ledger, "ledger.json"), "utf8")),
  );
  const coin = coinTypes[0]?.coinType ?? "";
  for (const [path, args] of Object.entries(LISTS)) {
    // Callbacks are listed of addresses that were used once; there are none here.
    if (path === "callbacks list") continue;
    const given = args.map((arg) => (arg === "COIN" ? coin : arg));
    const { code, stdout, stderr } = await runCommand(
      [...path.split(" "), ...given, "--json"],
      settings,
    );
    expect({ path, code, stderr }).toMatchObject({ path, code: 0 });
    expect({ path, numbers: numbersIn(JSON.parse(stdout)) }).toEqual({ path, numbers: [] });
  }
});

/** Members that are numbers and might be amounts, by their paths. */
const numbersIn = (value: unknown, path = ""): readonly string[] => {
  if (typeof value === "number") {
    return NUMBERS.has(path.split(".").at(-1) ?? "") ? [] : [`${path} ${value}`];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    numbersIn(member, Array.isArray(value) ? path : `${path}.${name}`),
  );
};
