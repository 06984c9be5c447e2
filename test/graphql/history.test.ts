/** The past as it is served, held against what was served then and what the simulated issuer knew. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { balancesOf } from "../../demo/model.ts";
import { follow } from "../service/following.ts";
import { type Api, startApi } from "./api.ts";

const EXAMPLE = fileURLToPath(new URL("../../docs/examples/cap-table.mjs", import.meta.url));
const BATCHES = 60;

/** What was served and known when a batch was in, by the checkpoint it ended with. */
type Then = {
  readonly checkpoint: bigint;
  readonly answers: unknown;
  readonly held: ReadonlyMap<string, bigint>;
};

let api: Api;
let coinType: string;
let owners: readonly string[];
const then: Then[] = [];
/** Goes on by so many checkpoints. */
let append: (checkpoints: number) => Promise<Then>;

const ASKED = (at: string) => {
  const given = at === "" ? "" : `, ${at}`;
  const each = owners.slice(0, 8).map(
    (owner, n) => `
      b${n}: tokenBalance(coinType: $coin, owner: "${owner}"${given}) {
        balance objectCount timelockBalance timelockCount timelocksIncluded decimals }
      o${n}: tokenObjects(coinType: $coin, owner: "${owner}", limit: 100${given}) {
        objectId owner balance version checkpoint }`,
  );
  return `query ($coin: String!) {
    tokenHolders(coinType: $coin, limit: 1000${given}) { owner balance timelockBalance timelocksIncluded }
    tokenTimelocks(coinType: $coin, limit: 1000${given}) { objectId owner totalAmount tokensTransferred leftBalance }
    walletRoles(coinType: $coin${given}) { owner roleBits roles }
    token(coinType: $coin${given}) { totalSupply firstCheckpoint symbol name holderCount ownerCount }
    ${each.join("")}
  }`;
};

const ask = async (query: string) => {
  const { data, errors } = await api.query(query, { coin: coinType });
  expect(errors).toBeUndefined();
  return data;
};

beforeAll(async () => {
  api = await startApi();
  const ledger = createDemoLedger({ seed: 11, investors: 15 });
  const following = await follow(api.database, ledger);
  append = async (checkpoints) => {
    const raws = Array.from({ length: checkpoints }, () => {
      const { sequence, raw } = ledger.next();
      return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
    });
    await following.append(raws);
    await following.project(1 + ((checkpoints * 53) % 300));
    const held = [...balancesOf(ledger.model, coinType)]
      .map(([owner, { tokens, grants }]) => [owner, tokens + grants] as const)
      .filter(([, balance]) => balance > 0n);
    return { checkpoint: ledger.nextSequence - 1n, answers: undefined, held: new Map(held) };
  };
  await append(150);
  coinType = [...ledger.model.coins.keys()][0] ?? "";
  owners = [...balancesOf(ledger.model, coinType).keys()];
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const known = await append(1 + ((batch * 7) % 12));
    then.push({ ...known, answers: await ask(ASKED("")) });
  }
}, 120_000);
afterAll(() => api[Symbol.asyncDispose]());

test("every answer about a past checkpoint equals the one given then", async () => {
  for (const { checkpoint, answers } of then) {
    expect(await ask(ASKED(`atCheckpoint: "${checkpoint}"`)), `${checkpoint}`).toEqual(answers);
  }
});

const changes = z.object({
  balanceChanges: z.array(
    z.object({
      checkpoint: z.string(),
      owner: z.string(),
      part: z.enum(["TOKENS", "GRANTS"]),
      cause: z.string(),
      change: z.string(),
      cursor: z.string(),
    }),
  ),
});

test("movements add up to the issuer's balances at each of these checkpoints, and every cause is known", async () => {
  const all: z.infer<typeof changes>["balanceChanges"] = [];
  for (;;) {
    const after = all.at(-1)?.cursor ?? null;
    const { data } = await api.query(
      `query ($coin: String!, $after: String) {
        balanceChanges(coinType: $coin, after: $after, limit: 1000) {
          checkpoint owner part cause change cursor
        }
      }`,
      { coin: coinType, after },
    );
    const page = changes.parse(data).balanceChanges;
    if (page.length === 0) break;
    all.push(...page);
  }
  expect(all.filter(({ cause }) => cause === "UNKNOWN")).toEqual([]);
  for (const { checkpoint, held } of then) {
    const folded = new Map<string, bigint>();
    for (const { checkpoint: at, owner, change } of all) {
      if (BigInt(at) > checkpoint) continue;
      const balance = (folded.get(owner) ?? 0n) + BigInt(change);
      if (balance === 0n) folded.delete(owner);
      else folded.set(owner, balance);
    }
    expect(folded, `${checkpoint}`).toEqual(held);
  }
});

const table = z.object({
  capTable: z.object({
    issued: z.string(),
    totalSupply: z.string(),
    holderCount: z.number(),
    rows: z.array(
      z.object({
        holderId: z.string().nullable(),
        balance: z.string(),
        wallets: z.array(z.object({ address: z.string(), balance: z.string() })),
      }),
    ),
  }),
});

test("the cap table at each has the issuer's owners and is worth the supply", async () => {
  for (const { checkpoint, held } of then) {
    const data = await ask(`query ($coin: String!) {
      capTable(coinType: $coin, atCheckpoint: "${checkpoint}", limit: 1000) {
        issued totalSupply holderCount rows { holderId balance wallets { address balance } }
      }
    }`);
    const { capTable } = table.parse(data);
    const wallets = capTable.rows.flatMap((row) => row.wallets);
    expect(
      new Map(
        wallets
          .filter(({ balance }) => balance !== "0")
          .map(({ address, balance }) => [address, BigInt(balance)]),
      ),
    ).toEqual(held);
    expect(capTable.issued).toBe(capTable.totalSupply);
    expect(capTable.holderCount).toBe(capTable.rows.length);
    const holders = capTable.rows.flatMap(({ holderId }) => holderId ?? []);
    expect(new Set(holders).size).toBe(holders.length);
  }
});

test("the documented example copies the register in two ways and finds them equal", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    EXAMPLE,
    `${api.url}/graphql`,
    api.key,
    coinType,
  ]);
  const last = then.at(-1);
  expect(stdout).toBe(`checkpoint ${last?.checkpoint}: ${last?.held.size} owners, 0 differ\n`);
});

const page = z.object({
  tokenHolders: z.array(z.object({ owner: z.string(), balance: z.string() })),
});
const meta = z.object({ _meta: z.object({ checkpoint: z.string() }) });

/** All holders of a checkpoint, in pages of three. */
const copyAt = async (at: string): Promise<ReadonlyMap<string, bigint>> => {
  const copied = new Map<string, bigint>();
  for (let after: string | null = null; ; ) {
    const { data } = await api.query(
      `query ($coin: String!, $at: String, $after: String) {
        tokenHolders(coinType: $coin, atCheckpoint: $at, after: $after, limit: 3) { owner balance }
      }`,
      { coin: coinType, at, after },
    );
    const rows = page.parse(data).tokenHolders;
    for (const { owner, balance } of rows) copied.set(owner, BigInt(balance));
    const last = rows.at(-1);
    if (last === undefined) return copied;
    after = `${last.balance}:${last.owner}`;
  }
};

test("forty copies made page by page while the ledger moves are each of one checkpoint", async () => {
  const known = new Map(then.map(({ checkpoint, held }) => [checkpoint.toString(), held]));
  const moving = (async () => {
    for (let batch = 0; batch < 25; batch += 1) {
      const { checkpoint, held } = await append(1 + (batch % 5));
      known.set(checkpoint.toString(), held);
    }
  })();
  const copies = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const { data } = await api.query("{ _meta { checkpoint } }");
      const at = meta.parse(data)._meta.checkpoint;
      return { at, copied: await copyAt(at) };
    }),
  );
  await moving;
  for (const { at, copied } of copies) expect(copied, at).toEqual(known.get(at));
});
