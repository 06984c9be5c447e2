/** Facts come out of the log as they went in, in pages of whole blocks. */

import { pad } from "viem";
import { expect, test } from "vitest";
import type { Address, EvmFact } from "../../src/evm/contract/fact.ts";
import type { EvmBatch } from "../../src/evm/log/chain-state.ts";
import { chainMark, readFacts, rolledBackTo, schedulesOf } from "../../src/evm/log/reads.ts";
import { openEvmLog } from "../../src/evm/log/store.ts";
import { freshDatabase } from "../postgres.ts";
import { networkOf } from "./reading.ts";

const token: Address = `0x${"aa".repeat(20)}`;
const lockup: Address = `0x${"bb".repeat(20)}`;
const network = networkOf(["http://127.0.0.1:1"], 7, [
  { address: token, type: "comakery_security_token_v1", lockup, fromBlock: 3 },
]);

/** Blocks of 1, 2, 3, … facts, two to a transaction; the first creates the token. */
const facts = (blocks: number): readonly EvmFact[] =>
  Array.from({ length: blocks }, (_, b) => {
    const block = { number: BigInt(b * 2 + 3), hash: pad(`0x${b + 1}`), timestamp: BigInt(b) };
    return Array.from({ length: b + 1 }, (_, i): EvmFact => {
      const index = Math.floor(i / 2);
      return {
        token,
        address: i % 2 === 0 ? token : lockup,
        topics: i % 3 === 0 ? [pad("0x1")] : [pad("0x1"), pad("0x2"), pad("0x3"), pad("0x4")],
        data: i % 2 === 0 ? "0x" : "0x00ff10",
        logIndex: i * 3,
        block,
        transaction: {
          hash: pad(`0x${b + 1}${index}f`, { size: 32 }),
          index,
          from: lockup,
          to: b === 0 ? null : token,
          nonce: BigInt(b),
          // Without input, too: a plain payment into the contract.
          input: index % 2 === 0 ? "0xa9059cbb00" : "0x",
        },
      };
    });
  }).flat();

const head = { number: 20n, hash: pad("0x14"), parentHash: pad("0x13"), timestamp: 20n };

const batch = (members: Partial<EvmBatch>): EvmBatch => ({
  chainId: 7,
  rollback: null,
  tokens: [token],
  first: 3n,
  last: 20n,
  facts: [],
  schedules: [],
  blocks: [],
  keepFrom: 0n,
  finalBlock: 5n,
  head,
  ...members,
});

test("facts read back as they were appended, in pages that never split a block", async () => {
  await using database = await freshDatabase();
  const written = facts(7);
  const log = await openEvmLog(database, network);
  await log.append(batch({ facts: written }));
  for (const limit of [1, 2, 3, 5, 7, 10, 27, 28, 1000]) {
    const pages: (readonly EvmFact[])[] = [];
    for (let from = 0n; from <= 20n; ) {
      const page = await readFacts(database.db, 7, token, from, limit);
      expect(page.nextBlock).toBeGreaterThan(from);
      pages.push(page.facts);
      from = page.nextBlock;
    }
    expect(pages.flat()).toEqual(written);
    for (const page of pages) {
      const blocks = new Set(page.map(({ block }) => block.number));
      expect(page.length <= limit || blocks.size === 1).toBe(true);
    }
  }
  // Caught up, and a token that the log does not know.
  expect(await readFacts(database.db, 7, token, 21n, 10)).toEqual({ facts: [], nextBlock: 21n });
  expect(await readFacts(database.db, 7, lockup, 4n, 10)).toEqual({ facts: [], nextBlock: 4n });
});

test("a rollback removes facts, schedules and blocks above it, and is recorded", async () => {
  await using database = await freshDatabase();
  const log = await openEvmLog(database, network);
  const block = (number: bigint) => ({
    number,
    hash: pad(`0x${number}`),
    parentHash: pad(`0x${number - 1n}`),
    timestamp: number,
  });
  const schedule = {
    releaseCount: 2n ** 256n - 1n,
    delayUntilFirstReleaseInSeconds: 0n,
    initialReleasePortionInBips: 1n,
    periodBetweenReleasesInSeconds: 2n,
  };
  await log.append(
    batch({
      facts: facts(7),
      blocks: [14n, 15n, 16n, 17n, 18n, 19n, 20n].map(block),
      schedules: [
        { token, scheduleId: 0n, block: 9n, schedule },
        { token, scheduleId: 2n, block: 16n, schedule },
      ],
    }),
  );
  expect(await rolledBackTo(database.db, 7, 0n)).toBe(null);
  await log.append(
    batch({
      rollback: { toBlock: 15n, belowFinal: false },
      tokens: [],
      first: 16n,
      last: 15n,
      keepFrom: 15n,
    }),
  );
  expect((await readFacts(database.db, 7, token, 0n, 1000)).nextBlock).toBe(16n);
  expect((await log.state()).blocks).toEqual([block(15n)]);
  expect(await schedulesOf(database.db, 7, token)).toEqual(new Map([[0n, schedule]]));
  expect(await rolledBackTo(database.db, 7, 1n)).toBe(15n);
  expect(await rolledBackTo(database.db, 7, 2n)).toBe(null);
  expect(await chainMark(database.db, 7)).toMatchObject({ step: 2n, finalBlock: 5n });
});

test("a token whose contracts or first block changed is refused, naming the change", async () => {
  await using database = await freshDatabase();
  const [listed] = network.tokens;
  if (listed === undefined) throw new Error("there is no token");
  const reopened = (members: Partial<typeof listed>) =>
    openEvmLog(database, { ...network, tokens: [{ ...listed, ...members }] });
  // Nothing was read of it so far: it may still be anything.
  await reopened({ lockup: token, fromBlock: 2 });
  const log = await reopened({});
  await log.append(batch({}));
  await expect(reopened({ lockup: token })).rejects.toMatchObject({
    name: "TokenSettingsChangedError",
    remedy: "stop",
    message: expect.stringContaining("lockup"),
  });
  await expect(reopened({ fromBlock: 2 })).rejects.toThrow("fromBlock");
  await expect(reopened({ identityRegistry: token })).rejects.toThrow("identityRegistry");
  // A later first block asks for less than the log has.
  await reopened({ fromBlock: 9 });
});
