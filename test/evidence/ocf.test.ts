import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { appendRows } from "../../src/database/table-rows.ts";
import { OcfCheck } from "../../src/evidence/ocf/check.ts";
import { numericOf, unitsOf } from "../../src/evidence/ocf/forms.ts";
import { LOT_POLICIES, type LotPolicy } from "../../src/evidence/ocf/lots.ts";
import { writeOcf } from "../../src/evidence/ocf/ocf.ts";
import { blockRows, createBlockBuilder } from "../../src/log/block.ts";
import { openLog } from "../../src/log/log.ts";
import { logBlocks } from "../../src/log/tables.ts";
import { type CapRow, type CapWallet, createCapTables } from "../../src/projections/cap-tables.ts";
import { guardedReads } from "../../src/projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../src/projections/needed.ts";
import { runCommand } from "../commands/run-command.ts";
import { forgetBlocks } from "../log/damage.ts";
import type { SaidCheckpoint } from "../pipelines/token-facts.ts";
import * as say from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { project } from "../projections/project.ts";
import { COINS, cuts, history, OWNERS } from "../projections/random-history.ts";
import { search } from "../random.ts";
import { follow } from "../service/following.ts";
import { readOcf } from "./ocf-package.ts";

let database: TestDatabase;
let demo: TestDatabase;
let coinTypes: readonly string[] = [];
let folder: string;
/** Folders are numbered. */
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ocf-"));
  [database, demo] = await Promise.all([freshDatabase({ max: 8 }), freshDatabase({ max: 8 })]);
  await openLog(database, { chainId: null, packages: [say.PACKAGE], firstCheckpoint: 0n });
  const ledger = createDemoLedger({
    seed: 5,
    timeOf: (sequence) => 1_735_689_600_000n + sequence * 3_600_000n,
  });
  coinTypes = ledger.coinTypes.map(({ coinType }) => coinType);
  const following = await follow(demo, ledger);
  const raws = Array.from({ length: 1_500 }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await following.append(raws);
  await following.project(5_000);
});
afterAll(async () => {
  await Promise.all([database.close(), demo.close(), rm(folder, { recursive: true, force: true })]);
});

const newFolder = () => {
  made += 1;
  return join(folder, `${made}`);
};

async function* inOnePage(rows: readonly CapRow[]) {
  yield rows;
}

/** The cap table's word of what a wallet is, as legends. */
const legendsOf = ({ isFrozen, groupId }: CapWallet): readonly string[] => [
  ...(isFrozen ? ["legend-frozen"] : []),
  ...(groupId === null ? [] : [`legend-group-${groupId}`]),
];

const idOf = ({ holderId, wallets }: CapRow) =>
  holderId === null ? `wallet-${wallets[0]?.address}` : `holder-${holderId}`;

/** Writes and reads the package of a checkpoint; what is held must be what the cap table says. */
const written = async (
  from: TestDatabase,
  coinType: string,
  checkpoint: bigint,
  decimals: number | null,
  lots: LotPolicy = "fifo",
) => {
  const at = { checkpoint, timestampMs: 1_700_000_000_000n };
  const rows = await createCapTables().rows(guardedReads(from.db, FOR_CAP_TABLES), {
    coinType,
    at,
    limit: 10_000,
  });
  const into = newFolder();
  await writeOcf(from.db, {
    coinType,
    decimals,
    checkpoint,
    checkpointTimestamp: 1_700_000_000n,
    checkpointDigest: "digest",
    rows: inOnePage(rows),
    lots,
    issuer: undefined,
    folder: into,
  });
  const read = await readOcf(into);
  const unit = 10n ** BigInt(10 - (decimals !== null && decimals <= 10 ? decimals : 0));
  const expected = rows.flatMap((row) =>
    row.wallets
      .filter(({ balance }) => balance > 0n)
      .map((wallet): [string, bigint] => [
        [idOf(row), wallet.address, ...legendsOf(wallet)].join(" "),
        wallet.balance * unit,
      ]),
  );
  expect(read.held).toEqual(new Map(expected));
  return { ...read, rows, unit, folder: into };
};

/** The five pipelines' tables, and the times of the checkpoints, which the log has. */
const told = async (
  checkpoints: readonly SaidCheckpoint[],
  batchings: Parameters<typeof project>[2] = [],
) => {
  await project(database, checkpoints, batchings);
  await forgetBlocks(database);
  const block = createBlockBuilder();
  for (const checkpoint of checkpoints) {
    block.add({ ...say.batchOf([checkpoint]).last, digest: "1".repeat(32) });
  }
  const rows = blockRows([{ first: 0n, ...block.packed() }], { reachedMs: 0n, filled: true });
  await appendRows(database.sql, logBlocks, rows);
};

test("a random history in Open Cap Format equals the cap table, and its past never changes", async () => {
  await search(
    fc.asyncProperty(history, fc.tuple(cuts, cuts, cuts, cuts, cuts), async (checkpoints, five) => {
      await told(checkpoints, five);
      const last = BigInt(checkpoints.length - 1);
      for (const coinType of COINS) {
        for (const lots of LOT_POLICIES) {
          const then = await written(database, coinType, last / 2n, 6, lots);
          const now = await written(database, coinType, last, 6, lots);
          expect(now.transactions.slice(0, then.transactions.length)).toEqual(then.transactions);
          for (const list of ["legends", "terms"] as const) {
            expect(now[list].slice(0, then[list].length)).toEqual(then[list]);
          }
        }
      }
    }),
    10,
  );
});

test("the register of the demo ledger is written with vesting, transfers and cancellations", async () => {
  const kinds = new Set<string>();
  for (const coinType of coinTypes) {
    for (const [checkpoint, lots] of [
      [200n, "fifo"],
      [1_499n, "fifo"],
      [1_499n, "pro-rata"],
    ] as const) {
      const { transactions, held } = await written(demo, coinType, checkpoint, 6, lots);
      for (const { object_type, vestings } of transactions)
        kinds.add(vestings ? "DATES" : object_type);
      expect(held.size).toBeGreaterThan(0);
    }
  }
  expect([...kinds].toSorted()).toEqual([
    "DATES",
    "TX_STOCK_CANCELLATION",
    "TX_STOCK_ISSUANCE",
    "TX_STOCK_REISSUANCE",
    "TX_STOCK_TRANSFER",
  ]);
});

test("what has vested by a day equals the cap table's unlocked amounts at its end, per holder", async () => {
  const at = { checkpoint: 1_499n, timestampMs: 0n };
  const days = ["2025-03-04", "2025-03-05", "2025-04-01", "2025-12-31", "2029-01-01"];
  let unlocked = 0n;
  for (const coinType of coinTypes) {
    const { transactions, unit } = await written(demo, coinType, at.checkpoint, 6);
    const used = new Set(
      transactions
        .filter(({ object_type }) => /TRANSFER|CANCELLATION|REISSUANCE/.test(object_type))
        .map(({ security_id }) => security_id),
    );
    for (const day of days) {
      const vested = new Map<string, bigint>();
      for (const { security_id, stakeholder_id = "", vestings } of transactions) {
        if (used.has(security_id)) continue;
        const due = vestings?.filter(({ date }) => date <= day) ?? [];
        const sum = due.reduce((all, { amount }) => all + unitsOf(amount), 0n);
        vested.set(stakeholder_id, (vested.get(stakeholder_id) ?? 0n) + sum);
      }
      const rows = await createCapTables().rows(guardedReads(demo.db, FOR_CAP_TABLES), {
        coinType,
        at: { ...at, timestampMs: BigInt(Date.parse(day)) + 86_399_999n },
        limit: 10_000,
      });
      for (const row of rows) {
        expect(vested.get(idOf(row)) ?? 0n, `${day} ${idOf(row)}`).toBe(row.unlocked * unit);
        unlocked += row.unlocked;
      }
    }
  }
  expect(unlocked).toBeGreaterThan(0n);
});

test("a grant of whole shares that begins at funding is written with vesting terms and their start", async () => {
  const [admin = "", holder = ""] = OWNERS;
  const id = { token: say.address("701"), grant: say.address("901") };
  const funded = 1_750_000_000_000n;
  const terms = { commencementTimestampMs: funded, delayUntilFirstReleaseMs: 0n };
  const amounts = { totalAmount: 12_000_000n, leftBalance: 12_000_000n };
  await told([
    {
      sequence: 0n,
      transactions: [
        [
          say.minted({ tokenId: id.token, to: admin, amount: 12_000_000n }),
          say.token({ id: id.token, owner: admin, balance: 12_000_000n }),
        ],
      ],
    },
    {
      sequence: 1n,
      timestampMs: funded,
      transactions: [
        [
          say.token({ id: id.token, owner: admin, balance: 0n }),
          say.grant({ id: id.grant, owner: holder, releaseCount: 10n, ...terms, ...amounts }),
        ],
      ],
    },
  ]);
  const { transactions, ...found } = await written(database, say.ACME, 1n, 6);
  expect(found.terms).toMatchObject([{ id: "vesting-0-2500-9-1", object_type: "VESTING_TERMS" }]);
  expect(transactions.slice(-2)).toMatchObject([
    { object_type: "TX_STOCK_ISSUANCE", vesting_terms_id: "vesting-0-2500-9-1", quantity: "12" },
    { object_type: "TX_VESTING_START", date: "2025-06-15" },
  ]);
});

test("a grant cancelled and funded again in one transaction vests by its new schedule, though no balance moved", async () => {
  const [holder = ""] = OWNERS;
  const [old, anew, token] = ["901", "902", "701"].map(say.address);
  if (!old || !anew || !token) throw new Error("there are three");
  const day = 86_400_000n;
  const from = 1_750_000_000_000n;
  const grant = { owner: holder, totalAmount: 600n, commencementTimestampMs: from };
  const later = { ...grant, releaseCount: 1n, commencementTimestampMs: from + 90n * day };
  const checkpoints: readonly SaidCheckpoint[] = [
    [
      say.minted({ tokenId: token, to: holder, amount: 600n }),
      say.grant({ ...grant, id: old, leftBalance: 600n }),
    ],
    [
      say.grant({ ...grant, id: old, leftBalance: 0n }),
      say.grant({ ...later, id: anew, leftBalance: 600n }),
    ],
    [
      say.minted({ tokenId: token, to: holder, amount: 1n }),
      say.token({ id: token, owner: holder, balance: 1n }),
    ],
  ].map((transaction, n) => ({
    sequence: BigInt(n),
    timestampMs: from + BigInt(n) * day,
    transactions: [transaction],
  }));
  await told(checkpoints);
  const then = await written(database, say.ACME, 1n, 0);
  const now = await written(database, say.ACME, 2n, 0);
  expect(now.transactions.slice(0, then.transactions.length)).toEqual(then.transactions);
  expect(then.transactions.slice(-2)).toMatchObject([
    { object_type: "TX_STOCK_REISSUANCE", date: "2025-06-16" },
    { quantity: "600", vestings: [{ date: "2025-09-13", amount: "600" }] },
  ]);
});

test("a token of more than ten decimals is written in its smallest unit, with a note", async () => {
  const [coinType = ""] = coinTypes;
  const { manifest, transactions } = await written(demo, coinType, 200n, 18);
  expect(manifest.comments).toContain(
    "quantities are in the smallest unit of the token, which has 18 decimals",
  );
  for (const { quantity } of transactions) expect(quantity ?? "0").toMatch(/^\d+$/);
  expect([numericOf(1_500_000n, 6), numericOf(5n, 6), numericOf(7n, 0)]).toEqual([
    "1.5",
    "0.000005",
    "7",
  ]);
});

const run = (settings: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  runCommand(["cap-table", "--coin", coinTypes[0] ?? "", "--format", "ocf", ...args], {
    DATABASE_URL: demo.url,
    ...settings,
  });

const contentsOf = async (from: string) => {
  const names = (await readdir(from)).toSorted();
  return Promise.all(
    names.map(async (name) => [name, await readFile(join(from, name), "utf8")] as const),
  );
};

test("the command writes the same files for the same checkpoint, with the issuer of the assets file", async () => {
  const assets = join(folder, "assets.json");
  const issuer = { legalName: "Acme AG", formationDate: "2019-04-01", countryOfFormation: "CH" };
  const token = { name: "acme", ledger: "sui", coinType: coinTypes[0], issuer };
  await writeFile(assets, JSON.stringify({ projects: [{ name: "acme", tokens: [token] }] }));
  const [one, other] = [newFolder(), newFolder()];
  await mkdir(other);
  for (const out of [one, other]) {
    const ran = await run({ ASSETS_FILE: assets }, "--at", "800", "--out", out);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/: \d+ transactions, \d+ stakeholders, lots: fifo\n$/);
  }
  expect(await contentsOf(one)).toEqual(await contentsOf(other));
  const { manifest } = await readOcf(one);
  expect(manifest.issuer).toMatchObject({
    legal_name: "Acme AG",
    formation_date: "2019-04-01",
    country_of_formation: "CH",
  });
  // Checkpoint 800 is 800 hours after the first one.
  expect(manifest).toMatchObject({
    as_of: "2025-02-03",
    generated_at: "2025-02-03T08:00:00.000Z",
  });
  // What is there is never written over.
  expect(await run({}, "--out", one)).toMatchObject({
    code: 1,
    stderr: `holderbook: FolderInUseError: ${one} is not empty: name another folder, or empty it\n`,
  });
  expect(await run({})).toMatchObject({ code: 2, stderr: expect.stringContaining("--out") });
  const inProportion = newFolder();
  await run({}, "--lots", "pro-rata", "--out", inProportion);
  expect((await readOcf(inProportion)).manifest.comments.join()).toContain("lots: pro-rata");
  expect(
    await runCommand(["cap-table", "--coin", coinTypes[0] ?? "", "--lots", "fifo"], {
      DATABASE_URL: demo.url,
    }),
  ).toMatchObject({ code: 2, stderr: expect.stringContaining("only the format ocf has lots") });
});

test("a history that does not lead to the cap table, legends included, is refused, and nothing is left behind", async () => {
  const [coinType = ""] = coinTypes;
  const at = { checkpoint: 200n, timestampMs: 0n };
  const rows = await createCapTables().rows(guardedReads(demo.db, FOR_CAP_TABLES), {
    coinType,
    at,
    limit: 10_000,
  });
  const changed = (change: (wallet: CapWallet) => Partial<CapWallet>) =>
    rows.map((row, index) =>
      index > 0
        ? row
        : { ...row, wallets: row.wallets.map((wallet) => ({ ...wallet, ...change(wallet) })) },
    );
  const into = newFolder();
  const before = await readdir(folder);
  for (const told of [
    changed(({ balance }) => ({ balance: balance + 1n })),
    changed(({ isFrozen }) => ({ isFrozen: !isFrozen })),
    changed(({ groupId }) => ({ groupId: (groupId ?? 0n) + 1n })),
    rows.slice(1),
  ]) {
    const request = {
      coinType,
      decimals: 6,
      checkpoint: 200n,
      checkpointTimestamp: 1_700_000_000n,
      checkpointDigest: "digest",
      issuer: undefined,
      folder: into,
      lots: "fifo" as const,
    };
    await expect(writeOcf(demo.db, { ...request, rows: inOnePage(told) })).rejects.toThrow(
      "the cap table says",
    );
  }
  expect(await readdir(folder)).toEqual(before);
});

test("every small change of a package is refused by the check", async () => {
  const [coinType = ""] = coinTypes;
  const { rows, unit, ...all } = await written(demo, coinType, 1_499n, 6);
  const walletsOf = new Map(rows.map((row) => [idOf(row), row.wallets]));
  type Texts = readonly string[];
  type Package = Readonly<Record<"transactions" | "legends" | "stakeholders", Texts>>;
  const check = ({ transactions, legends, stakeholders }: Package) => {
    const checking = new OcfCheck();
    for (const one of all.classes) checking.stockClass(JSON.stringify(one));
    for (const text of transactions) checking.transaction(text);
    for (const text of legends) checking.legend(text);
    for (const text of stakeholders) {
      const id = /"id":"([^"]+)"/.exec(text)?.[1] ?? "";
      checking.stakeholder(text, walletsOf.get(id) ?? [], unit);
    }
    checking.end();
  };
  const textsOf = (objects: readonly object[]) => objects.map((one) => JSON.stringify(one));
  const good = textsOf(all.transactions);
  const rest = { legends: textsOf(all.legends), stakeholders: textsOf(all.stakeholders) };
  check({ ...rest, transactions: good });
  const at = (kind: string, also = "") =>
    good.findIndex((text) => text.includes(kind) && text.includes(also));
  const changed = (index: number, from: string | RegExp, to: string) => {
    const text = good[index]?.replace(from, to) ?? "";
    expect(text).not.toBe(good[index]);
    return good.with(index, text);
  };
  const [issuance, transfer, reissuance] = ["ISSUANCE", "TRANSFER", "TX_STOCK_REISSUANCE"].map(
    (kind) => at(kind),
  );
  const partial = at("CANCELLATION", "balance_security_id");
  const dates = at("ISSUANCE", "vestings");
  const labelled = at("TX_STOCK_ISSUANCE", '"stock_legend_ids":["legend');
  const plain = at("TX_STOCK_ISSUANCE", '"stock_legend_ids":[]');
  const newest = good.findLastIndex((text) => text.includes("TX_STOCK_ISSUANCE"));
  // Of one acquisition from two securities.
  const second = good.findIndex(
    (text, index) =>
      text.includes("TX_STOCK_TRANSFER") && good[index - 1]?.includes("TX_STOCK_TRANSFER"),
  );
  const faults: readonly Texts[] = [
    good.slice(1),
    good.slice(0, -1),
    good.toSpliced(transfer ?? 0, 1),
    good.toSpliced((transfer ?? 0) + 1, 1),
    good.toSpliced(second, 1),
    good.toSpliced(reissuance ?? 0, 1),
    good.toSpliced(1, 0, good[0] ?? ""),
    changed(issuance ?? 0, /"quantity":"/, '"quantity":"1'),
    changed(issuance ?? 0, /"quantity":"[^"]+"/, '"quantity":"0.00000000001"'),
    changed(issuance ?? 0, /"quantity":"([^"]+)"/, '"quantity":1'),
    changed(issuance ?? 0, '"custom_id"', '"customId"'),
    changed(issuance ?? 0, "{", '{"extra":1,'),
    changed(issuance ?? 0, "class-1", "class-2"),
    changed(issuance ?? 0, /"stakeholder_id":"/, '"stakeholder_id":"un'),
    changed(issuance ?? 0, /"date":"\d{4}/, '"date":"20-'),
    changed(newest, /"wallet 0x/, '"wallet 0xf'),
    changed(transfer ?? 0, /"security_id":"security-\d+/, '"security_id":"security-999999'),
    changed(transfer ?? 0, /"quantity":"/, '"quantity":"1'),
    changed(second, /"resulting_security_ids":\["/, '"resulting_security_ids":["security-1","'),
    changed(second, /"resulting_security_ids":\["/, '"resulting_security_ids":["un'),
    changed(reissuance ?? 0, /"resulting_security_ids":\["/, '"resulting_security_ids":["un'),
    changed(partial, /"balance_security_id":"[^"]+",?/, ""),
    changed(dates, /"amount":"([^"]+)"/, '"amount":"1$1"'),
    changed(dates, /"vestings":\[\{"date":"\d{4}/, '"vestings":[{"date":"1999'),
    changed(dates, /"vestings":\[.*\]/, '"vesting_terms_id":"vesting-1"'),
    changed(labelled, /"stock_legend_ids":\["legend/, '"stock_legend_ids":["unlegend'),
    changed(good.length - 1, /"date":"\d{4}/, '"date":"1999'),
    changed(plain, '"stock_legend_ids":[]', '"stock_legend_ids":["legend-frozen","legend-frozen"]'),
  ];
  for (const [index, transactions] of faults.entries()) {
    expect(() => check({ ...rest, transactions }), `fault ${index}`).toThrow();
  }
  const { legends, stakeholders } = rest;
  expect(() => check({ ...rest, transactions: good, legends: legends.slice(1) })).toThrow(
    "there is no legend-",
  );
  const more = legends.concat((legends[0] ?? "").replace('"id":"', '"id":"un'));
  expect(() => check({ ...rest, transactions: good, legends: more })).toThrow("nothing names");
  expect(() => check({ ...rest, transactions: good, stakeholders: stakeholders.slice(1) })).toThrow(
    "no stakeholder",
  );
});
