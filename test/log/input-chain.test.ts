/** Which versions transactions took in: kept beside each change of an object, under a chain of their own. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Database } from "../../src/database/connect.ts";
import { START } from "../../src/log/chain-hash.ts";
import { checkStretch } from "../../src/log/check-chain.ts";
import { inputLink } from "../../src/log/input-chain.ts";
import { openLog } from "../../src/log/log.ts";
import { freshDatabase } from "../postgres.ts";
import { alterLog } from "./damage.ts";
import { batch, fact, PACKAGE } from "./facts.ts";
import { inputHashes } from "./inputs.ts";

const PAGE = new URL("../../docs/reference/formats.md", import.meta.url);

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** What every third checkpoint of the log has: an event, a new object, one that was changed, one that is gone. */
const factsOf = (checkpoint: bigint) => [
  fact(checkpoint),
  fact(checkpoint, 0, { kind: "object" }),
  fact(checkpoint, 5, { kind: "object" }),
  fact(checkpoint, 5, { kind: "removal", index: 1 }),
];

/** Checkpoints 0 to 29. */
const fill = async (database: Database, size = 10n, more = 0) => {
  const log = await openLog(database, identity);
  for (let first = 0n; first < 30n; first += size) {
    const checkpoints = Array.from({ length: Number(size) }, (_, i) => first + BigInt(i));
    const facts = checkpoints
      .filter((checkpoint) => checkpoint % 3n === 0n)
      .flatMap((checkpoint) => [
        ...factsOf(checkpoint),
        ...Array.from({ length: more }, (_, n) => fact(checkpoint, 6 + n)),
      ]);
    await log.append(batch(first, first + size - 1n, facts), []);
  }
};

test("each change of an object has its transaction's input version, and an event has none", async () => {
  await using database = await freshDatabase();
  await fill(database);
  const rows = await database.sql`
    select transaction, index, version from log_inputs where checkpoint = 3 order by 1, 2`;
  expect(rows.map((row) => Object.values(row))).toEqual([
    [0, 0, null],
    [5, 0, "5"],
    [5, 1, `${2n ** 64n - 1n - 3n}`],
  ]);
  const [counted] = await database.sql<{ rows: bigint; links: bigint }[]>`
    select count(*) as rows, (select count(*) from log_input_chain) as links from log_inputs`;
  expect(counted).toEqual({ rows: 30n, links: 10n });
  await expect(database.sql`delete from log_inputs`.execute()).rejects.toThrow(/append-only/);
  await expect(database.sql`delete from log_input_chain`.execute()).rejects.toThrow(/append-only/);
});

test("the chain is independent of batches, and hashes as documented", async () => {
  await using one = await freshDatabase();
  await using other = await freshDatabase();
  await using copied = await freshDatabase();
  await fill(one);
  await fill(other, 3n);
  // So many facts that they are copied; events are no inputs.
  await fill(copied, 15n, 40);
  const chain = await inputHashes(one);
  expect(chain).toHaveLength(10);
  expect(await inputHashes(other)).toEqual(chain);
  expect(await inputHashes(copied)).toEqual(chain);

  // By hand, from the description alone.
  const field = (value: string | null) => {
    if (value === null) return Buffer.alloc(4, 0xff);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return Buffer.concat([length, Buffer.from(value)]);
  };
  const hash = (...parts: Uint8Array[]) =>
    createHash("sha256").update(Buffer.concat(parts)).digest();
  let before = Buffer.alloc(32);
  for (const checkpoint of [0n, 3n]) {
    const versions = [null, "5", `${2n ** 64n - 1n - checkpoint}`];
    const inputs = factsOf(checkpoint).flatMap((each) => {
      if (each.kind === "event") return [];
      return [field(`${each.transaction}`), field(each.objectId), field(versions.shift() ?? null)];
    });
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(checkpoint);
    before = hash(before, number, hash(...inputs));
  }
  expect(chain[1]).toBe(before.toString("hex"));

  const object = (end: string) => `0x${end.padStart(64, "0")}`;
  const example = inputLink(START, 7n, [
    { checkpoint: 7n, transaction: 2, index: 0, objectId: object("a"), version: null },
    { checkpoint: 7n, transaction: 2, index: 1, objectId: object("b"), version: 5n },
  ]);
  expect(await readFile(PAGE, "utf8")).toContain(Buffer.from(example.hash).toString("hex"));
});

const INPUT = "checkpoint = 12 and transaction = 5 and index = 0";

test.each([
  ["an altered version", `update log_inputs set version = 4 where ${INPUT}`, /was altered/],
  ["a version left out", `update log_inputs set version = null where ${INPUT}`, /was altered/],
  ["a deleted input", `delete from log_inputs where ${INPUT}`, /some were deleted/],
  [
    "an input of an object that did not change",
    "insert into log_inputs values (12, 9, 0, 4)",
    /deleted or added/,
  ],
  [
    "an input where no object changed",
    "insert into log_inputs values (13, 9, 0, 4)",
    /log_inputs has 1 rows that log_input_chain does not know/,
  ],
  [
    "an input exchanged for one of another place",
    `update log_inputs set index = 2 where ${INPUT}`,
    /of which 2 are of one of 3 changes of objects/,
  ],
  [
    "a link deleted",
    "delete from log_input_chain where checkpoint = 12",
    /log_inputs has 3 rows that log_input_chain does not know/,
  ],
  [
    "a link and its inputs deleted",
    "delete from log_input_chain where checkpoint = 12; delete from log_inputs where checkpoint = 12",
    /have nothing of 3 changes of objects/,
  ],
  [
    "the end of both deleted",
    "delete from log_input_chain where checkpoint > 12; delete from log_inputs where checkpoint > 12",
    /have nothing of 3 changes of objects/,
  ],
  [
    "a link altered",
    "update log_input_chain set hash = sha256(hash) where checkpoint = 12",
    /not the one in log_input_chain/,
  ],
  [
    "a link of nothing",
    "insert into log_input_chain values (13, 1, sha256('x'))",
    /log_input_chain has a row of 1 inputs, but log_inputs none/,
  ],
  [
    "a stretch that is said to begin later",
    "update log_high_water set inputs_from = 12",
    /not the one in log_input_chain/,
  ],
])("%s is found and named", async (_what, statement, words) => {
  await using database = await freshDatabase();
  await fill(database);
  expect(await checkStretch(database.sql, -1n)).toMatchObject({ fault: null, ended: true });
  await alterLog(database, statement);
  const { fault, through } = await checkStretch(database.sql, -1n);
  expect(fault?.what).toMatch(words);
  expect(fault?.checkpoint).toBeOneOf([12n, 13n, 15n]);
  expect(through).toBe(fault?.checkpoint);
});
