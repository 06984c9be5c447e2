/** A short history of a coin, as the pipelines write it: what ended, what moved, and what stands. */
import type { BalanceChangeRow } from "../../src/projections/balance-changes.ts";
import { positionOf } from "../../src/projections/position.ts";
import {
  foldSharedTokens,
  type SharedTokenState,
} from "../../src/projections/shared-token-objects.ts";
import { foldTimelocks } from "../../src/projections/timelock-objects.ts";
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

export const TOKEN = address("01");
export const OTHER_TOKEN = address("02");
export const GRANT = address("11");

const token = (owner: string, balance: bigint, checkpoint: bigint): SharedTokenState => ({
  coinType: ACME,
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
  coinType: ACME,
  owner,
  position: positionOf({ checkpoint, transaction: 2, index: 0 }),
  cause,
  change,
  balanceAfter,
  txDigest: `digest${checkpoint}`,
  timestampMs: timestampMs(checkpoint),
});

/**
 * - 10: ALICE is minted 630 in one object; her wallet joins holder 7
 * - 12: ALICE may administer the token
 * - 15: 600 of hers are granted to BOB
 * - 20: ALICE sends 18 to BOB
 * - 25: BOB claims 100 of his grant
 * - 30: ALICE may no longer administer the token
 */
export const addHistory = async (database: TestDatabase): Promise<void> => {
  await knowCoin(database, ACME, 6);
  await setHighWater(database, LAST, FIRST);
  await setWatermarks(database, LAST);
  await database.transaction((tx) =>
    foldSharedTokens(tx, {
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
        seen: [{ coinType: ACME, firstCheckpoint: 10n }],
        named: [{ coinType: ACME, symbol: "ACME", name: "Acme Inc." }],
        supplies: [
          { coinType: ACME, checkpoint: 10n, supply: 630n },
          { coinType: ACME, checkpoint: 40n, supply: 730n },
        ],
      },
    }),
  );
  const claimed = grant(BOB, {
    totalAmount: 600n,
    tokensTransferred: 100n,
    leftBalance: 500n,
    checkpoint: 25n,
  });
  const whole = { ...claimed, tokensTransferred: 0n, leftBalance: 600n, checkpoint: 15n };
  await database.transaction((tx) =>
    foldTimelocks(tx, {
      ...grantRows([{ objectId: GRANT, state: claimed }]),
      ended: [{ objectId: GRANT, ...whole, until: 25n }],
      changes: [
        changed(15n, BOB, "GRANT_FUNDED", 600n, 600n),
        changed(25n, BOB, "GRANT_CLAIMED", -100n, 500n),
      ],
    }),
  );
  await addHolderEvents(database, [
    holderEvent(10n, { eventType: "holder_address_added", holderId: 7n, address: ALICE }),
  ]);
  await addRoleEvents(database, [
    roleEvent(12n, ALICE, "ContractAdmin"),
    roleEvent(30n, ALICE, "ContractAdmin", { granted: false }),
  ]);
};
