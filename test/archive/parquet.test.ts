/** `archive export --format parquet`: DuckDB reads the log and the register exactly. */
import { mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { exportParquet, type ParquetOptions } from "../../src/archive/parquet/export-parquet.ts";
import { openExport } from "../../src/archive/parquet/manifest.ts";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import { chainEnd } from "../../src/log/chain.ts";
import { factSource } from "../../src/log/log.ts";
import { readBatches } from "../../src/log/read-batches.ts";
import { runCommand } from "../commands/run-command.ts";
import { startApi } from "../graphql/api.ts";
import { damaged, isOfAcme, LAST, project, withHistory } from "../pipelines/held-history.ts";
import { ACME } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Duck, openDuck } from "./duckdb.ts";

const END = 149n;
const THEN = 100n;

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<string, string>>;
let duck: Duck;
/** With several row groups and parts, and the register of an earlier checkpoint. */
let earlier: string;

beforeAll(async () => {
  [folder, database, duck] = await Promise.all([temporaryFolder(), freshDatabase(), openDuck()]);
  const ledger = join(folder.path, "ledger");
  await writeDemoLedger({ dir: ledger, checkpoints: 150, seed: 11, format: "chk" });
  settings = { DATABASE_URL: database.url, LEDGER_SOURCE: `dir:${ledger}` };
  const { code, stderr } = await runCommand(["index", "--last", `${END}`], settings);
  expect(code, stderr).toBe(0);
  await openDeploymentKey(database, Buffer.alloc(32, 7));
  earlier = await exported("earlier", { at: THEN });
});
afterAll(async () => {
  duck[Symbol.dispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

const SMALL = { group: { rows: 50, bytes: 1_000_000 }, factsPerPart: 200 };

const place = (name: string) => join(folder.path, name);

const exported = async (name: string, options: Partial<ParquetOptions> = {}): Promise<string> => {
  const { signal } = new AbortController();
  await exportParquet(database, { folder: place(name), limits: SMALL, signal, ...options });
  return place(name);
};

const command = (dir: string, ...args: readonly string[]) =>
  runCommand(["archive", "export", "--format", "parquet", "--dir", dir, ...args], settings);

const TOKENS = `{ tokens(limit: 100) { coinType } }`;
const TABLE = `query ($coin: String!, $at: String!) { capTable(coinType: $coin, atCheckpoint: $at, limit: 1000) {
  issued totalSupply rows {
    holderId balance tokens granted unlocked locked wallets { address balance groupId isFrozen }
  } } }`;

const holdersIn = (dir: string, coin: string) =>
  duck.rows(`
    select holder_id as "holderId", sum(balance) as balance, sum(tokens) as tokens,
           sum(granted) as granted, sum(unlocked) as unlocked, sum(locked) as locked,
           list({ address: wallet, balance: balance::varchar, groupId: group_id::varchar,
                  isFrozen: is_frozen } order by wallet) as wallets
    from '${dir}/register.parquet' where coin_type = '${coin}'
    group by holder_id, case when holder_id is null then wallet end having sum(balance) > 0
    order by sum(balance) desc, holder_id nulls last, min(wallet)`);

test("the register's holders and sums are those of GraphQL, of every token, at each checkpoint", async () => {
  await using api = await startApi({ database });
  const { text } = await api.query(TOKENS);
  const coins: readonly { readonly coinType: string }[] = JSON.parse(text).data.tokens;
  expect(coins.length).toBeGreaterThan(3);
  const now = await exported("now");
  for (const [dir, at] of [
    [earlier, THEN],
    [now, END],
  ] as const) {
    for (const { coinType } of coins) {
      const { text: table } = await api.query(TABLE, { coin: coinType, at: `${at}` });
      const { issued, totalSupply, rows } = JSON.parse(table).data.capTable;
      expect(await holdersIn(dir, coinType), coinType).toEqual(rows);
      expect(
        await duck.rows(`
          select (select sum(balance) from '${dir}/register.parquet' r where r.coin_type = t.coin_type) as issued,
                 total_supply as "totalSupply"
          from '${dir}/tokens.parquet' t where coin_type = '${coinType}'`),
      ).toEqual([{ issued, totalSupply }]);
    }
  }
});

test("movements sum up to the register, and to its grants and token objects", async () => {
  const dir = await exported("sums");
  const file = (name: string) => `'${join(dir, name)}.parquet'`;
  const [difference] = await duck.rows(`
    with moved as (
      select coin_type, owner as wallet, sum(change) filter (part = 'TOKENS') as tokens,
             sum(change) filter (part = 'GRANTS') as granted,
             arg_max(balance_after, position) filter (part = 'TOKENS') as last_tokens
      from ${file("movements")} group by all
    ), held as (
      select coin_type, owner as wallet, sum(balance) as tokens from ${file("objects")} group by all
    ), promised as (
      select coin_type, owner as wallet, sum(left_balance) as granted from ${file("grants")} group by all
    )
    select count(*) as wallets, count(*) filter (
      r.tokens <> coalesce(m.tokens, 0) or r.granted <> coalesce(m.granted, 0)
      or r.tokens <> coalesce(h.tokens, 0) or r.granted <> coalesce(p.granted, 0)
      or r.tokens <> coalesce(m.last_tokens, 0)
    ) as differing, sum(balance) as issued
    from ${file("register")} r left join moved m using (coin_type, wallet)
    left join held h using (coin_type, wallet) left join promised p using (coin_type, wallet)`);
  expect(difference).toMatchObject({ differing: "0" });
  const [moved] = await duck.rows(`select sum(change) as issued from ${file("movements")}`);
  expect(moved?.issued).toBe(difference?.issued);
});

test("the facts are the log's, byte for byte, in chain order and several parts", async () => {
  const facts = [];
  const all = { begin: 0n, from: 0n, last: END, maxFacts: 1e6, maxBytes: 1e9, maxCheckpoints: 1e6 };
  for await (const batch of readBatches(database.sql, all)) facts.push(...batch.facts);
  const rows = await duck.rows(`select *, hex(contents) as hex from '${earlier}/facts-*.parquet'`);
  const part = await duck.rows(`select count(distinct filename) as n
    from read_parquet('${earlier}/facts-*.parquet', filename = true)`);
  expect(Number(part[0]?.n)).toBeGreaterThan(2);
  const expected = facts.map((fact) => ({
    checkpoint: `${fact.checkpoint}`,
    transaction_index: fact.transaction,
    fact_index: fact.index,
    kind: fact.kind,
    type: fact.type,
    name: fact.name,
    coin_type: fact.coinType,
    tx_digest: fact.txDigest,
    sender: fact.sender,
    object_id: fact.kind === "event" ? null : fact.objectId,
    version: fact.kind === "event" ? null : `${fact.version}`,
    version_before:
      fact.kind === "object" && fact.versionBefore !== null ? `${fact.versionBefore}` : null,
    hex: fact.kind === "removal" ? null : Buffer.from(fact.contents).toString("hex").toUpperCase(),
  }));
  expect(rows.map(({ contents: _, checkpoint_time: __, ...row }) => row)).toEqual(expected);
  const [times] = await duck.rows(
    `select count(distinct epoch_ms(checkpoint_time)) as n, min(epoch_ms(checkpoint_time)) as first
     from '${earlier}/facts-*.parquet'`,
  );
  expect(times?.first).toBe(`${facts[0]?.timestampMs}`);
});

test("each file says what it is of, and its row groups ascend by checkpoint", async () => {
  const about = async (name: string) =>
    Object.fromEntries(
      (
        await duck.rows(
          `select decode(key) as k, decode(value) as v from parquet_kv_metadata('${earlier}/${name}.parquet')`,
        )
      ).map(({ k, v }) => [String(k).replace(/^holderbook\./, ""), v]),
    );
  const { hash } = await chainEnd(database.sql, END);
  const shared = {
    format: "holderbook-parquet-v1",
    chain_id: expect.stringMatching(/./),
    deployment: expect.stringMatching(/./),
    log_checkpoint: `${END}`,
    log_hash: Buffer.from(hash).toString("hex"),
    left_out: "[]",
  };
  const range = { first_checkpoint: "0", last_checkpoint: `${END}` };
  expect(await about("movements")).toEqual({ ...shared, ...range });
  expect(await about("register")).toEqual({
    ...shared,
    checkpoint: `${THEN}`,
    checkpoint_time: expect.stringMatching(/^2025-01-01T/),
    checkpoint_digest: expect.stringMatching(/./),
  });
  for (const name of ["facts-0001", "movements"]) {
    const groups = await duck.rows(`
      select compression, row_group_num_rows as rows, stats_min_value::bigint as least,
             stats_max_value::bigint as greatest
      from parquet_metadata('${earlier}/${name}.parquet') where path_in_schema = 'checkpoint'
      order by row_group_id`);
    expect(groups.length, name).toBeGreaterThan(2);
    let before = -1;
    for (const { compression, rows, least, greatest } of groups) {
      expect(compression).toBe("ZSTD");
      expect(Number(rows)).toBeLessThanOrEqual(50);
      expect(Number(least)).toBeGreaterThanOrEqual(before);
      before = Number(greatest);
    }
  }
  for (const name of ["kind", "name", "coin_type"]) {
    const [{ encodings } = {}] = await duck.rows(`
      select encodings from parquet_metadata('${earlier}/facts-0001.parquet')
      where path_in_schema = '${name}'`);
    expect(encodings, name).toContain("DICTIONARY");
  }
});

test("an export of a later part has its facts and movements alone", async () => {
  const dir = await exported("part", { from: 40n, to: 80n });
  const [facts] = await duck.rows(
    `select min(checkpoint) as least, max(checkpoint) as most from '${dir}/facts-*.parquet'`,
  );
  const [moved] = await duck.rows(
    `select min(checkpoint) as least, max(checkpoint) as most, count(*) as n from '${dir}/movements.parquet'`,
  );
  const [same] = await duck.rows(
    `select count(*) as n from '${earlier}/movements.parquet' where checkpoint between 40 and 80`,
  );
  expect(Number(facts?.least)).toBeGreaterThanOrEqual(40);
  expect(Number(facts?.most)).toBeLessThanOrEqual(80);
  expect(moved?.n).toBe(same?.n);
});

test("an interrupted export goes on with the files that it lacks, and ends with the same bytes", async () => {
  const whole = await openExport(earlier);
  const files = whole?.files ?? [];
  for (const until of ["facts-0002.parquet", "register.parquet", "movements.parquet"]) {
    const killing = new AbortController();
    const name = `killed-${until}`;
    const exporting = exported(name, {
      ...{ at: THEN, signal: killing.signal },
      onProgress: (file) => {
        if (file === until) killing.abort(new Error("killed"));
      },
    });
    await expect(exporting).rejects.toThrow("killed");
    const kept = (await openExport(place(name)))?.files.map((file) => file.name) ?? [];
    expect(kept).toEqual(files.map((file) => file.name).slice(0, kept.length));
    expect(kept).not.toContain(until);
    const inodes = async () =>
      Promise.all(kept.map(async (file) => (await stat(join(place(name), file))).ino));
    const before = await inodes();
    await exported(name, { at: THEN });
    expect(await inodes()).toEqual(before);
    expect(await openExport(place(name))).toEqual(whole);
  }
});

test("a finished file that was damaged since is rewritten", async () => {
  const dir = await exported("damaged", { at: THEN });
  const whole = await openExport(dir);
  await truncate(join(dir, "facts-0002.parquet"), 100);
  await exported("damaged", { at: THEN });
  const again = await openExport(dir);
  const byName = (made: typeof whole) => made?.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(byName(again)).toEqual(byName(whole));
});

test("a folder with something else, another range, or nothing to export is refused with the way out", async () => {
  const dir = await exported("refused", { to: 60n });
  const before = await readFile(join(dir, "manifest.json"), "utf8");
  const refused = async (args: readonly string[], where = dir) => {
    const { code, stderr, stdout } = await command(where, ...args);
    expect(stdout).toBe("");
    return `${code} ${stderr}`;
  };
  expect(await refused(["--to", "61"])).toContain(
    `1 holderbook: ParquetFolderError: ${dir}: it has an export of checkpoints 0 to 60 with the register at 60; export to another folder`,
  );
  expect(await refused([])).toContain("complete, while the register has reached 149");
  expect(await refused(["--at", "150"], place("none"))).toContain(
    "NotYetIndexedError: checkpoint 150 is not indexed yet; the last one is 149",
  );
  expect(await refused(["--from", "9", "--to", "8"], place("none"))).toMatch(/^2 .*--from 9/);
  const log = await runCommand(["archive", "export", "--dir", dir], settings);
  expect(log.code).toBe(1);
  await runCommand(["archive", "export", "--dir", place("log")], settings);
  expect(await refused([], place("log"))).toContain(
    "its manifest.json is not one of holderbook-parquet-v1",
  );
  await mkdir(place("photos"));
  await writeFile(join(place("photos"), "one.jpg"), "");
  expect(await refused([], place("photos"))).toContain("it has one.jpg, but no manifest.json");
  const early = await runCommand(["archive", "export", "--dir", dir, "--at", "3"], settings);
  expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining("--at: only --format") });
  expect(await readFile(join(dir, "manifest.json"), "utf8")).toBe(before);
  expect(await command(dir, "--to", "60")).toMatchObject({ code: 0, stderr: "" });
});

test("a held coin is left out but for its facts, and named in the files and the output", async () => {
  await using setup = await withHistory();
  const { database: holding } = setup;
  await project(holding, damaged(factSource(holding), isOfAcme(4n)), 7);
  const dir = place("held");
  const { signal } = new AbortController();
  const made = await exportParquet(holding, { folder: dir, signal });
  const without = { coinType: ACME, pipeline: "shared_token_objects", from: 4n };
  expect(made.last).toBe(LAST);
  expect(made.files.find(({ name }) => name === "register.parquet")?.held).toMatchObject([without]);
  const coins = async (file: string) =>
    (await duck.rows(`select distinct coin_type as coin from '${dir}/${file}.parquet'`)).map(
      ({ coin }) => coin,
    );
  for (const file of ["register", "movements", "objects", "tokens"]) {
    expect(await coins(file), file).toHaveLength(2);
    expect(await coins(file), file).not.toContain(ACME);
    const [said] = await duck.rows(`
      select decode(value) as v from parquet_kv_metadata('${dir}/${file}.parquet')
      where decode(key) = 'holderbook.left_out'`);
    expect(JSON.parse(String(said?.v))).toMatchObject([{ ...without, from: "4" }]);
  }
  expect(await coins("facts-0001")).toContain(ACME);
  const printed = await runCommand(
    ["archive", "export", "--format", "parquet", "--dir", place("held-too")],
    { DATABASE_URL: holding.url },
  );
  expect(printed.stdout).toContain(
    `left out but for its facts: ${ACME}, held by shared_token_objects from checkpoint 4 on:`,
  );
  // Before the fact that could not be applied the coin is whole.
  await exportParquet(holding, { folder: place("before"), to: 3n, signal });
  const [before] = await duck.rows(
    `select count(distinct coin_type) as n from '${place("before")}/register.parquet'`,
  );
  expect(before?.n).toBe("3");
});

/** Columns, types and nullability in the documented tables, by the file's name before its number. */
const documented = async () => {
  const page = await readFile(new URL("../../docs/reference/formats.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## Parquet exports\n");
  const tables = [
    ...(section
      .split("\n## ")[0]
      ?.matchAll(/^`(\w+)[\w-]*\.parquet`[^\n]*\n(?:[^\n|]*\n)*((?:\|.*\n)+)/gm) ?? []),
  ];
  return tables.map(([, file = "", table = ""]) => ({
    file,
    columns: [...table.matchAll(/^\| `(\w+)` \| (\w+)(, null)? \|/gm)].map(
      ([, name, type = "", isNullable]) => ({
        name,
        type: SQL_TYPES[type],
        isNullable: isNullable !== undefined,
      }),
    ),
  }));
};

const SQL_TYPES: Readonly<Record<string, string>> = {
  int32: "INTEGER",
  int64: "BIGINT",
  u64: "DECIMAL(20,0)",
  amount: "DECIMAL(38,0)",
  time: "TIMESTAMP WITH TIME ZONE",
  text: "VARCHAR",
  bytes: "BLOB",
  flag: "BOOLEAN",
};

test("the columns are those of the documented tables, with their types", async () => {
  const files = await documented();
  const { files: written = [] } = (await openExport(earlier)) ?? {};
  const names = new Set(written.map(({ name }) => name.replace(/(-\d+)?\.parquet$/, "")));
  expect(new Set(files.map(({ file }) => file))).toEqual(names);
  for (const { file, columns } of files) {
    const path = join(earlier, file === "facts" ? "facts-0001" : file);
    const types = await duck.rows(`describe select * from '${path}.parquet'`);
    const kinds = await duck.rows(
      `select name, repetition_type as kind from parquet_schema('${path}.parquet') where type is not null`,
    );
    expect(
      types.map(({ column_name: name, column_type: type }) => ({
        name,
        type,
        isNullable: kinds.find((kind) => kind.name === name)?.kind === "OPTIONAL",
      })),
      file,
    ).toEqual(columns);
  }
});
