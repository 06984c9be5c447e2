import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BEFORE_ROWS, readRows } from "../../src/projections/cap-rows.ts";
import {
  type HistoryPlace,
  type HolderChange,
  holderHistory,
} from "../../src/projections/holder-history.ts";
import { tenuresOf, wasHolderAt } from "../../src/projections/holder-tenures.ts";
import { positionsEnd } from "../../src/projections/position.ts";
import { walletStates } from "../../src/projections/wallet-states.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import { project } from "./project.ts";
import { cuts, history } from "./random-history.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());

const five = fc.tuple(cuts, cuts, cuts, cuts, cuts);

type Asked = {
  readonly coinType: string;
  readonly holderId: bigint;
  readonly at: bigint;
  readonly limit: number;
};

/** All pages in one direction. */
const pages = async (
  { coinType, holderId, at, limit }: Asked,
  order: "asc" | "desc",
): Promise<HolderChange[]> => {
  const { tenures } = await tenuresOf(database.db, { coinType, holderId, at });
  const range = { from: 0n, end: positionsEnd(at) };
  const rows: HolderChange[] = [];
  for (let after: HistoryPlace | undefined; ; ) {
    const query = { coinType, tenures, ...range, limit, order, after };
    const page = await holderHistory(database.db, query);
    rows.push(...page);
    after = page.at(-1);
    if (page.length < limit) return rows;
  }
};

const cursorOf = ({ position, wallet, kind }: HistoryPlace) => `${position}:${wallet}:${kind}`;

test("the changes of every holder add up to totalAfter, and to its row of the cap table at each checkpoint", async () => {
  const { db, sql } = database;
  await search(
    fc.asyncProperty(
      history,
      five,
      fc.integer({ min: 1, max: 4 }),
      async (said, batchings, limit) => {
        await project(database, said, batchings);
        const holders = await sql<{ coin_type: string; holder_id: string; first: bigint }[]>`
        select coin_type, holder_id::text, min(position) as first from holder_events
        where holder_id is not null group by 1, 2`;
        for (const at of new Set([0n, BigInt(said.length) / 2n, BigInt(said.length) - 1n])) {
          for (const { coin_type: coinType, holder_id, first } of holders) {
            const holderId = BigInt(holder_id);
            const asked = { coinType, holderId, at, limit };
            const rows = await pages(asked, "asc");
            expect(await pages(asked, "desc")).toEqual(rows.toReversed());
            expect(await pages({ ...asked, limit: 1_000 }, "asc")).toEqual(rows);
            expect(new Set(rows.map(cursorOf)).size).toBe(rows.length);

            let total = 0n;
            for (const { change, totalAfter, kind, cause, part } of rows) {
              total += change;
              expect(totalAfter).toBe(total);
              expect(change).not.toBe(0n);
              const isWallets = kind === "ADDED" || kind === "REMOVED";
              expect([part, cause.startsWith("WALLET")]).toEqual([
                isWallets ? null : kind,
                isWallets,
              ]);
            }
            const table = await readRows(
              db,
              coinType,
              { checkpoint: at, timestampMs: 0n },
              BEFORE_ROWS,
              99,
            );
            const row = table.find((one) => one.holderId === holderId);
            expect(total).toBe(row?.balance ?? 0n);

            expect(await wasHolderAt(db, asked)).toBe(first < positionsEnd(at));
            const { tenures } = await tenuresOf(db, asked);
            const wallets = tenures
              .flatMap(({ address, end }) => (end === null ? [{ coinType, address }] : []))
              .sort((a, b) => (a.address < b.address ? -1 : 1));
            const states = await walletStates(db, { wallets, at });
            expect(states.map((state) => state.holderId)).toEqual(states.map(() => holderId));
            if (row === undefined) continue;
            expect(
              states.map(({ address, tokens, granted, groupId, isFrozen }) => ({
                ...{ address, balance: tokens + granted, groupId, isFrozen },
              })),
            ).toEqual(row.wallets);
          }
        }
      },
    ),
    12,
  );
});
