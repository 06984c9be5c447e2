/** A coin with very many owners: one object, one mint each. */

import type { BalanceChangeRow } from "../../src/projections/balance-changes.ts";
import { writeAll } from "../../src/projections/batch-write.ts";
import { positionOf } from "../../src/projections/position.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import type { TestDatabase } from "../postgres.ts";
import { tokenRows } from "../projections/object-rows.ts";
import { FIRST, LAST } from "./history-rows.ts";
import { ACME, address, knowCoin, setHighWater, setWatermarks, timestampMs } from "./rows.ts";

/** In one transaction. */
const AT_ONCE = 20_000;

/** The owner with this number, from 1; a lower one holds more. */
export const ownerOf = (number: number): string => address((0x10_0000 + number).toString(16));

/** What the owner with this number holds, of so many. */
export const heldBy = (number: number, owners: number): bigint =>
  BigInt(owners - number + 1) * 1_000_001n;

/** Fills an empty database with so many owners of ACME, at checkpoint 10 of a log from 5 to 50. */
export const addOwners = async (database: TestDatabase, owners: number): Promise<void> => {
  await setHighWater(database, LAST, FIRST);
  await setWatermarks(database, LAST);
  await knowCoin(database, ACME, 6);
  const supply = Array.from({ length: owners }, (_, index) => heldBy(index + 1, owners)).reduce(
    (sum, held) => sum + held,
    0n,
  );
  for (let from = 1; from <= owners; from += AT_ONCE) {
    const numbers = Array.from(
      { length: Math.min(AT_ONCE, owners - from + 1) },
      (_, index) => from + index,
    );
    await database.transaction((tx) =>
      writeAll(
        tx,
        foldSharedTokens({
          ...tokenRows(
            numbers.map((number) => ({
              objectId: address((0x200_0000 + number).toString(16)),
              state: {
                coinType: ACME,
                owner: ownerOf(number),
                balance: heldBy(number, owners),
                version: 10n,
                checkpoint: 10n,
              },
            })),
          ),
          changes: numbers.map(
            (number): BalanceChangeRow => ({
              coinType: ACME,
              owner: ownerOf(number),
              position: positionOf({ checkpoint: 10n, transaction: number, index: 0 }),
              cause: "MINT",
              change: heldBy(number, owners),
              balanceAfter: heldBy(number, owners),
              txDigest: `mint${number}`,
              timestampMs: timestampMs(10n),
            }),
          ),
          tokens: {
            seen: [{ coinType: ACME, firstCheckpoint: 10n }],
            named: [{ coinType: ACME, symbol: "ACME", name: "Acme Inc." }],
            supplies: from === 1 ? [{ coinType: ACME, checkpoint: 10n, supply }] : [],
          },
        }),
      ),
    );
  }
};
