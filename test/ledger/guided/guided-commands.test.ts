/** The commands of guided reading, on databases of their own, with a node that lists and one that lies. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../commands/run-command.ts";
import { freshDatabase } from "../../postgres.ts";
import { temporaryFolder } from "../../service/process.ts";
import { hiding } from "../history/hiding.ts";
import { HONEST, type Lies } from "../history/lies.ts";
import { startListServer } from "../history/list-server.ts";
import { listedDemo } from "../history/listed-demo.ts";
import { startObjectStore } from "../sources/object-store-server.ts";
import { factsOfContract } from "./facts-found.ts";

const ledger = listedDemo(
  { seed: "commands", foreign: 0.4, noise: 0.5, actionsPerCheckpoint: 0.8, epochLength: 60 },
  240,
);
const { committee, packages, coinTypes } = ledger.demo;
const LAST = String(ledger.newest());
/** For three readings on a busy machine. */
const PATIENCE_MS = 300_000;

const opened = new AsyncDisposableStack();
let node: Awaited<ReturnType<typeof startListServer>>;
let settings: Readonly<Record<string, string>> = {};
/** Digests of the register that was read in full. */
let expected: { readonly checkpoint: string };

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder());
  node = opened.use(await startListServer(ledger));
  const file = join(path, "committee.json");
  const members = committee.members.map(({ publicKey, stake }) => ({
    publicKey: Buffer.from(publicKey).toString("base64"),
    stake: `${stake}`,
  }));
  await writeFile(file, JSON.stringify({ epoch: 0, members }));
  settings = {
    LEDGER_SOURCE: `grpc+http://${node.host}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    COMMITTEE_FILE: file,
    DATA_DIR: join(path, "data"),
  };
  await using full = await read(HONEST);
  expected = await digests(full.url);
  expect(expected.checkpoint).toBe(LAST);
}, PATIENCE_MS);
afterAll(() => opened.disposeAsync());

/** Runs a command to its end on a database. */
const run = async (url: string, args: readonly string[], code = 0): Promise<string> => {
  const ran = await runCommand(args, { ...settings, DATABASE_URL: url });
  expect(ran.code, `${args.join(" ")}: ${ran.stderr}${ran.stdout}`).toBe(code);
  return ran.stdout;
};

const read = async (lies: Lies, ...how: readonly string[]) => {
  const database = await freshDatabase();
  node.lists.lies = lies;
  await run(database.url, ["backfill", ...how, "--to", LAST]);
  node.lists.lies = HONEST;
  return database;
};

const digests = async (url: string) => JSON.parse(await run(url, ["digest", "--json"]));

test(
  "a register read guided has the digests of one read in full, also when the lists hide a transaction",
  async () => {
    await using guided = await read(HONEST, "--guided");
    const facts = factsOfContract(ledger);
    const [, split] = ledger.listed(`call ${ledger.demo.foreignPackages[1]}::pool::split`);
    await using hidden = await read(hiding(ledger, split?.digest ?? "", facts).lists, "--guided");

    expect(await digests(guided.url)).toEqual(expected);
    expect(await digests(hidden.url)).toEqual(expected);
    const proven = await run(hidden.url, ["prove", "complete"]);
    expect(proven.match(/is complete through checkpoint/g)).toHaveLength(coinTypes.length);
    // Also of the checkpoints that it did not read.
    const audited = await run(hidden.url, ["backfill", "--audit", "100%"]);
    expect(audited).toContain(`compared ${LAST} checkpoints in 1 random ranges`);
    expect(audited).toContain("no difference");
  },
  PATIENCE_MS,
);

test(
  "checkpoints of an object store, guided by a full node's lists, give the same register",
  async () => {
    await using store = await startObjectStore({
      newest: ledger.newest(),
      object: (sequence) => zstdCompressSync(ledger.checkpoint(sequence)),
    });
    const { length } = node.seen.checkpointCalls;
    const before = settings;
    settings = {
      ...settings,
      LEDGER_SOURCE: store.base.href,
      INDEX_SOURCE: `grpc+http://${node.host}`,
    };
    await using guided = await read(HONEST, "--guided");
    expect(await digests(guided.url)).toEqual(expected);
    settings = before;
    // The node gave lists alone, and the store hardly a checkpoint twice: ends of epochs may be.
    expect(node.seen.checkpointCalls.length).toBe(length);
    const { gets } = store.seen;
    const again = gets.filter((sequence, at) => gets.indexOf(sequence) < at);
    expect(again.filter((sequence) => sequence % 60n !== 59n)).toEqual([]);
    expect(gets.length).toBeGreaterThan(50);
  },
  PATIENCE_MS,
);

test(
  "what a node denies everywhere is named by an audit of all checkpoints, and with object and version by the proof, if need be with a second node",
  async () => {
    const facts = factsOfContract(ledger);
    // The last change of an object: no later version takes in what it gave.
    const last = facts.findLast(({ kind, checkpoint }) => {
      const isEnd = checkpoint % 60n === 59n || checkpoint === ledger.newest();
      return kind === "object" && !isEnd;
    });
    const lies = hiding(ledger, last?.txDigest ?? "", facts);
    await using denied = await read(lies.stale, "--guided");
    const audited = await run(denied.url, ["backfill", "--audit", "100%"], 1);
    expect(audited).toContain(`checkpoint ${last?.checkpoint}: `);
    await using witness = await startListServer(ledger);
    node.lists.lies = lies.stale;
    const alone = await run(denied.url, ["prove", "complete"]);
    expect(alone).not.toContain("is incomplete");

    const other = `grpc+http://${witness.host}`;
    settings = { ...settings, WITNESS_SOURCE: other };
    const proven = await run(denied.url, ["prove", "complete", "--source", other, "--json"], 1);
    node.lists.lies = HONEST;
    const tokens: readonly {
      coinType: string;
      incomplete: { objectId: string; version: string }[];
    }[] = JSON.parse(proven).tokens;
    const named = tokens.flatMap(({ incomplete }) => incomplete);
    expect(named.length).toBeGreaterThan(0);
    expect(named.every(({ objectId }) => lies.objects.has(objectId))).toBe(true);
  },
  PATIENCE_MS,
);
