/** Digests of pipelines: what they are the same for, and what they are not. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLog } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { LINES, stateLines } from "../../src/projections/digest-lines.ts";
import { digestsOf, NO_ROWS, pipelineDigest, shownDigest } from "../../src/projections/digests.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { blake2b256 } from "../../src/values/blake2b.ts";
import { PACKAGE } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
import { cuts, history } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
  await openLog(database, { chainId: null, packages: [PACKAGE], firstCheckpoint: 0n });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);

/** Digests of all pipelines after each of these checkpoints. */
const digests = async (checkpoints: number) => {
  const { db } = database;
  const all = [];
  for (const pipeline of ledgerPipelines) {
    for (let at = 0; at < checkpoints; at += 1) {
      all.push(await pipelineDigest(db, pipeline, BigInt(at)));
    }
  }
  return all;
};

test("digests of every checkpoint are independent of batches", async () => {
  await search(
    fc.asyncProperty(history, five, five, async (checkpoints, some, others) => {
      await project(database, checkpoints, some);
      const first = await digests(checkpoints.length);
      const { pipelines } = await readWatermarks(database.db, ledgerPipelines);
      expect(pipelines.map(({ digest }) => digest)).toEqual(
        ledgerPipelines.map((_, index) => first[(index + 1) * checkpoints.length - 1]),
      );
      await project(database, checkpoints, others);
      expect(await digests(checkpoints.length)).toEqual(first);
    }),
    15,
  );
});

test("a digest is computed as described", () => {
  const states = [
    { objectId: "0xb", coinType: "c", owner: "o", balance: 5n, version: 9n, checkpoint: 7n },
    {
      objectId: "0xa",
      coinType: "c",
      owner: "o",
      balance: 1n,
      version: 2n,
      checkpoint: 3n,
      until: 7n,
    },
  ];
  const [only, ...others] = digestsOf(NO_ROWS, 3, stateLines(LINES.token, 5n, 9n, states));
  expect(others).toEqual([]);
  const lines = [
    '{"removed":"0xa"}',
    '{"balance":"5","coinType":"c","objectId":"0xb","owner":"o","version":"9"}',
  ];
  const sha = createHash("sha256")
    .update(`${lines.join("\n")}\n`)
    .digest();
  const numbers = Buffer.from("00000003" + "0000000000000007", "hex");
  const expected = blake2b256(new Uint8Array(32), Buffer.concat([numbers, sha]));
  expect(only).toEqual({ checkpoint: 7n, digest: expected });
  expect(shownDigest(expected)).toHaveLength(64);
});

test("a state that begins and ends, or is replaced, has one line for each checkpoint that it changed in", () => {
  const state = { coinType: "c", address: "0xa", aspect: "group" };
  const lines = stateLines(LINES.membership, 0n, 20n, [
    { ...state, value: 1n, checkpoint: 1n, until: 4n },
    { ...state, value: 2n, checkpoint: 4n, until: 9n },
  ]);
  expect(lines.map(({ checkpoint, text }) => [checkpoint, text])).toEqual([
    [1n, '{"address":"0xa","aspect":"group","coinType":"c","value":"1"}\n'],
    [4n, '{"address":"0xa","aspect":"group","coinType":"c","value":"2"}\n'],
    [9n, '{"removed":{"address":"0xa","aspect":"group","coinType":"c"}}\n'],
  ]);
});

test("the page for auditors lists every line's names, and its example is right", async () => {
  const page = await readFile(new URL("../../docs/reference/formats.md", import.meta.url), "utf8");
  for (const [name, { order, key, names }] of Object.entries(LINES)) {
    const listed = (all: readonly string[]) => all.map((each) => `\`${each}\``).join(", ");
    expect(page).toContain(`| \`${name}\` | ${order} | ${listed(key)} | ${listed(names)} |\n`);
  }
  const state = { coinType: "0x5::acme::ACME", owner: "0x1" };
  const lines = stateLines(LINES.token, 7n, 7n, [
    { ...state, objectId: "0xb", balance: 5n, version: 9n, checkpoint: 7n },
    { ...state, objectId: "0xa", balance: 1n, version: 2n, checkpoint: 3n, until: 7n },
  ]);
  expect(page).toContain(
    `\`\`\`\n${lines
      .map(({ text }) => text)
      .toReversed()
      .join("")}\`\`\``,
  );
  const [made] = digestsOf(NO_ROWS, 3, lines);
  expect(page).toContain(`\`${shownDigest(made?.digest ?? NO_ROWS)}\``);
});
