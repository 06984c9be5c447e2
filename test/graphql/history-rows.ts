/** A short history of a coin, as the pipelines write it: what ended, what moved, and what stands. */

import type { BalanceChangeRow } from "../../src/projections/balance-changes.ts";
import { writeAll } from "../../src/projections/batch-write.ts";
import { positionOf } from "../../src/projections/position.ts";
import { STILL_OPEN } from "../../src/projections/ranges.ts";
import {
  foldSharedTokens,
  type SharedTokenState,
} from "../../src/projections/shared-token-objects.ts";
import { foldTimelocks } from "../../src/projections/timelock-objects.ts";
import type { TokenNews } from "../../src/projections/tokens.ts";
import type { TestDatabase } from "../postgres.ts";
import { grantRows, tokenRows } from "../projections/object-rows.ts";
import {
  ACME,
  ALICE,
  addHolderEvents,
  addRoleEvents,
  address,
  BOB,
  grant,
  holderEvent,
  knowCoin,
  roleEvent,
  setHighWater,
  setWatermarks,
  timestampMs,
} from "./rows.ts";

/** Where the log begins. */
export const FIRST = 5n;
/** What all pipelines have committed. */
export const LAST = 50n;

export const TOKEN = address("701");
export const OTHER_TOKEN = address("702");
export const GRANT = address("711");

/** What is said of one coin type. */
const saidOf = (coinType: string) => {
  const token = (owner: string, balance: bigint, checkpoint: bigint): SharedTokenState => ({
    coinType,
    owner,
    balance,
    version: checkpoint,
    checkpoint,
  });

  const changed = (
    checkpoint: bigint,
    owner: string,
    cause: BalanceChangeRow["cause"],
    change: bigint,
    balanceAfter: bigint,
  ): BalanceChangeRow => ({
    coinType,
    owner,
    position: positionOf({ checkpoint, transaction: 2, index: 0 }),
    cause,
    change,
    balanceAfter,
    txDigest: `digest${checkpoint}`,
    timestampMs: timestampMs(checkpoint),
  });
  return { token, changed };
};

/** The history below, in a log that has it. */
export const addHistory = async (database: TestDatabase): Promise<void> => {
  await setHighWater(database, LAST, FIRST);
  await setWatermarks(database, LAST);
  await addMovements(database, ACME);
};

/**
 * - 10: ALICE is minted 630 in one object; her wallet joins holder 7
 * - 12: ALICE may administer the token
 * - 15: 600 of hers are granted to BOB
 * - 20: ALICE sends 18 to BOB
 * - 25: BOB claims 100 of his grant
 * - 30: ALICE may no longer administer the token
 */
export const addMovements = async (database: TestDatabase, coinType: string): Promise<void> => {
  const { token, changed } = saidOf(coinType);
  await knowCoin(database, coinType, 6);
  await database.transaction((tx) =>
    writeAll(
      tx,
      foldSharedTokens({
        ...tokenRows([
          { objectId: TOKEN, state: token(ALICE, 12n, 20n) },
          { objectId: OTHER_TOKEN, state: token(BOB, 118n, 25n) },
        ]),
        ended: [
          { objectId: TOKEN, ...token(ALICE, 630n, 10n), until: 15n },
          { objectId: TOKEN, ...token(ALICE, 30n, 15n), until: 20n },
          { objectId: OTHER_TOKEN, ...token(BOB, 18n, 20n), until: 25n },
        ],
        changes: [
          changed(10n, ALICE, "MINT", 630n, 630n),
          changed(15n, ALICE, "GRANT_FUNDED", -600n, 30n),
          changed(20n, ALICE, "TRANSFER", -18n, 12n),
          changed(20n, BOB, "TRANSFER", 18n, 18n),
          changed(25n, BOB, "GRANT_CLAIMED", 100n, 118n),
        ],
        tokens: {
          seen: [{ coinType, firstCheckpoint: 10n }],
          named: [{ coinType, symbol: "ACME", name: "Acme Inc." }],
          supplies: [
            { coinType, checkpoint: 10n, supply: 630n },
            { coinType, checkpoint: 40n, supply: 730n },
          ],
        },
      }),
    ),
  );
  const claimed = grant(BOB, {
    coinType,
    totalAmount: 600n,
    tokensTransferred: 100n,
    leftBalance: 500n,
    checkpoint: 25n,
  });
  const whole = { ...claimed, tokensTransferred: 0n, leftBalance: 600n, checkpoint: 15n };
  await database.transaction((tx) =>
    writeAll(
      tx,
      foldTimelocks({
        ...grantRows([{ objectId: GRANT, state: claimed }]),
        ended: [{ objectId: GRANT, ...whole, until: 25n }],
        changes: [
          changed(15n, BOB, "GRANT_FUNDED", 600n, 600n),
          changed(25n, BOB, "GRANT_CLAIMED", -100n, 500n),
        ],
      }),
    ),
  );
  const holderId = 7n;
  const since10 = { checkpoint: 10n, until: STILL_OPEN };
  await addHolderEvents(
    database,
    [holderEvent(10n, { coinType, eventType: "holder_address_added", holderId, address: ALICE })],
    [{ coinType, address: ALICE, aspect: "holder", value: holderId, ...since10 }],
  );
  const granted = roleEvent(12n, ALICE, "ContractAdmin", { coinType });
  const { owner, role } = granted;
  await addRoleEvents(
    database,
    [granted, roleEvent(30n, ALICE, "ContractAdmin", { coinType, granted: false })],
    [{ coinType, owner, role, checkpoint: 12n, until: 30n }],
  );
};

/** What else is said of tokens. */
export const addTokens = (database: TestDatabase, tokens: TokenNews): Promise<void> =>
  database.transaction((tx) => writeAll(tx, foldSharedTokens({ ...tokenRows([]), tokens })));
