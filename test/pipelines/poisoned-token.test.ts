// @module-tag alone
/** One poisoned token of 1,000: the other 999 are never more than one checkpoint behind. */
import { setInterval } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Fact } from "../../src/log/fact.ts";
import { factSource, openLog } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { heldCoins } from "../../src/pipelines/release-held.ts";
import { readQuarantines } from "../../src/projections/quarantines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { batch } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { refuseChangesOf } from "../projections/damage.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { cutShort, objects } from "./held-history.ts";
import { running } from "./running.ts";
import { address, batchOf, PACKAGE, token, transferred } from "./token-facts.ts";

const COINS = Array.from({ length: 1_000 }, (_, n) => `${address(`c${n}`)}::coin::COIN${n}`);
const [POISONED = ""] = COINS;

const CHECKPOINTS = 40;
const BAD = 15n;

/** Half a second: twice as long as the network's. */
const PACE_MS = 500;

const [ALICE, BOB] = [address("a11ce"), address("b0b")];

/** In each checkpoint a hundred tokens change hands, the poisoned one among them. */
const factsOf = (sequence: bigint): readonly Fact[] => {
  const [from, to] = sequence % 2n === 0n ? [BOB, ALICE] : [ALICE, BOB];
  const moved = COINS.filter((coin, n) => n % 10 === Number(sequence) % 10 || coin === POISONED);
  return batchOf([
    {
      sequence,
      transactions: moved.map((coin) => {
        const id = address(`70${COINS.indexOf(coin)}`);
        return [
          transferred({ tokenId: id, from, to, amount: 9n }, coin),
          token({ id, owner: to, balance: 9n }, coin),
        ];
      }),
    },
  ]).facts;
};

const isPoisoned = ({ coinType, checkpoint }: Fact) => coinType === POISONED && checkpoint === BAD;

const poisoned = (fact: Fact): Fact =>
  fact.kind === "object" && isPoisoned(fact)
    ? { ...fact, contents: cutShort(fact.contents) }
    : fact;

/** Appends a checkpoint every half second while the pipelines run; returns the longest backlog seen before an append. */
const longestBacklog = async (database: TestDatabase, alter: (fact: Fact) => Fact) => {
  const log = await openLog(database, { chainId: null, packages: [PACKAGE], firstCheckpoint: 0n });
  await using _run = running(database, ledgerPipelines, { log: factSource(database) });
  let [next, longest] = [0n, 0n];
  for await (const _ of setInterval(PACE_MS)) {
    if (next > 0n) {
      const { pipelines } = await readWatermarks(database.db, ledgerPipelines);
      for (const { next: reached } of pipelines) {
        const behind = next - (reached ?? 0n);
        if (behind > longest) longest = behind;
      }
    }
    if (next === BigInt(CHECKPOINTS)) return longest;
    const facts = factsOf(next).map(alter);
    const read = facts.map((fact) =>
      fact.kind === "object" ? { ...fact, versionBefore: null } : fact,
    );
    await log.append(batch(next, next, read), []);
    next += 1n;
  }
  throw new Error("the interval ended");
};

const rowsOfOthers = async (database: TestDatabase) =>
  Object.entries(await projectedRows(database)).map(([table, rows]) => [
    table,
    table.endsWith("_digests") ? [] : rows.filter((row) => !row.includes(POISONED)),
  ]);

test.for([
  { what: "a truncated object", alter: poisoned, isRefused: false },
  { what: "a row that the database refuses", alter: (fact: Fact) => fact, isRefused: true },
])(
  "with $what of one token the other 999 are never more than one checkpoint behind",
  { timeout: 120_000 },
  async ({ alter, isRefused }) => {
    await using undisturbed = await freshDatabase({ max: 12 });
    expect(await longestBacklog(undisturbed, (fact) => fact)).toBeLessThanOrEqual(1n);
    await using database = await freshDatabase({ max: 12 });
    if (isRefused) await refuseChangesOf(database, POISONED, BAD);
    expect(await longestBacklog(database, alter)).toBeLessThanOrEqual(1n);
    const held = await heldCoins(database, objects);
    expect([...held]).toMatchObject([[POISONED, { from: BAD }]]);
    expect(await readQuarantines(database.db)).toHaveLength(1);
    expect(await rowsOfOthers(database)).toEqual(await rowsOfOthers(undisturbed));
  },
);
