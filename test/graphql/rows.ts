/** Rows as the pipelines write them, through the projections' own writes. */

import { upsertCoins } from "../../src/log/coins.ts";
import type { CheckpointMark } from "../../src/log/fact.ts";
import { openLog } from "../../src/log/log.ts";
import { writeAll } from "../../src/projections/batch-write.ts";
import { type HolderEventRow, keepRegister } from "../../src/projections/holder-events.ts";
import type { MembershipRange } from "../../src/projections/memberships.ts";
import { positionOf } from "../../src/projections/position.ts";
import type { WatermarkTable } from "../../src/projections/progress-tables.ts";
import { foldRoles, type RoleEventRow, type RoleRange } from "../../src/projections/roles.ts";
import { foldSharedTokens } from "../../src/projections/shared-token-objects.ts";
import { foldTimelocks, type TimelockState } from "../../src/projections/timelock-objects.ts";
import {
  appendTokenActivity,
  type TokenActivityRow,
} from "../../src/projections/token-activity.ts";
import { mark, marksOf, piecesOf } from "../log/facts.ts";
import type { TestDatabase } from "../postgres.ts";
import { grantRows, tokenRows } from "../projections/object-rows.ts";
import * as projections from "../projections/set-watermark.ts";
import { PACKAGE, PIPELINES } from "./api.ts";

/** `0x` and 64 digits. */
export const address = (digits: string): string => `0x${digits.padStart(64, "0")}`;

export const ACME = `${address("acce")}::acme::ACME`;
export const ALICE = address("a11ce");
export const BOB = address("b0b");
export const CAROL = address("ca401");

/** Time of a checkpoint here: one a second, from a round second on. */
export const timestampMs = (checkpoint: bigint): bigint => (1_700_000_000n + checkpoint) * 1000n;

/** A digest that says what it is of. */
const digestOf = (checkpoint: bigint) => `digest${checkpoint}`;

const placed = (checkpoint: bigint, index: number) => ({
  coinType: ACME,
  position: positionOf({ checkpoint, transaction: 2, index }),
  txDigest: digestOf(checkpoint),
  timestampMs: timestampMs(checkpoint),
});

export const activity = (
  checkpoint: bigint,
  row: Partial<TokenActivityRow> & { readonly index?: number } = {},
): TokenActivityRow => {
  const { index = 0, ...rest } = row;
  return {
    ...placed(checkpoint, index),
    activityType: "transfer",
    amount: 1n,
    fromAddress: ALICE,
    toAddress: BOB,
    signer: CAROL,
    tokenObjectId: address("0b1ec7"),
    ...rest,
  };
};

export const addActivity = (database: TestDatabase, rows: readonly TokenActivityRow[]) =>
  database.transaction((tx) => writeAll(tx, appendTokenActivity(rows)));

export const holderEvent = (
  checkpoint: bigint,
  row: Partial<HolderEventRow> & Pick<HolderEventRow, "eventType"> & { readonly index?: number },
): HolderEventRow => {
  const { index = 0, ...rest } = row;
  return {
    ...placed(checkpoint, index),
    holderId: null,
    address: null,
    groupId: null,
    isFrozen: null,
    ...rest,
  };
};

export const addHolderEvents = (
  database: TestDatabase,
  events: readonly HolderEventRow[],
  memberships: readonly MembershipRange[] = [],
) => database.transaction((tx) => writeAll(tx, keepRegister({ events, memberships })));

export const roleEvent = (
  checkpoint: bigint,
  owner: string,
  name: string,
  row: Partial<RoleEventRow> & { readonly package?: string } = {},
): RoleEventRow => {
  const { package: origin = PACKAGE, ...rest } = row;
  return {
    ...placed(checkpoint, 0),
    owner,
    role: `${origin}::roles::${name}`,
    granted: true,
    signer: CAROL,
    ...rest,
  };
};

export const addRoleEvents = (
  database: TestDatabase,
  events: readonly RoleEventRow[],
  ranges: readonly RoleRange[] = [],
) => database.transaction((tx) => writeAll(tx, foldRoles({ events, ranges })));

/** Objects as they stand; null: gone. */
export const setTokens = (
  database: TestDatabase,
  objects: readonly {
    readonly id: string;
    readonly owner: string;
    readonly balance: bigint | null;
  }[],
  coinType = ACME,
) =>
  database.transaction((tx) =>
    writeAll(
      tx,
      foldSharedTokens(
        tokenRows(
          objects.map(({ id, owner, balance }) => ({
            objectId: address(id),
            coinType,
            state:
              balance === null ? null : { coinType, owner, balance, version: 7n, checkpoint: 42n },
          })),
        ),
      ),
    ),
  );

/** A grant of 1000 with 600 left, unless told otherwise. */
export const grant = (owner: string, state: Partial<TimelockState> = {}): TimelockState => ({
  coinType: ACME,
  owner,
  funder: CAROL,
  releaseScheduleId: 3n,
  releaseCount: 12n,
  delayUntilFirstReleaseMs: 86_400_000n,
  periodBetweenReleasesMs: 2_592_000_000n,
  initialReleasePortionBps: 1000n,
  commencementTimestampMs: 1_700_000_000_000n,
  totalAmount: 1000n,
  tokensTransferred: 400n,
  leftBalance: 600n,
  version: 9n,
  checkpoint: 42n,
  ...state,
});

export const setGrants = (
  database: TestDatabase,
  grants: readonly { readonly id: string; readonly state: TimelockState | null }[],
) =>
  database.transaction((tx) =>
    writeAll(
      tx,
      foldTimelocks(grantRows(grants.map(({ id, state }) => ({ objectId: address(id), state })))),
    ),
  );

/** A coin seen as a security; its decimals, when its metadata was seen. */
export const knowCoin = (database: TestDatabase, coinType: string, decimals?: number) =>
  upsertCoins(
    database.sql,
    new Set([coinType]),
    decimals === undefined ? [] : [{ coinType, decimals }],
  );

const markOf = (checkpoint: bigint): CheckpointMark => ({
  ...mark(checkpoint),
  timestampMs: timestampMs(checkpoint),
});

/** Puts a watermark after a checkpoint. */
export const setWatermark = (
  database: TestDatabase,
  table: WatermarkTable,
  checkpoint: bigint,
): Promise<void> => projections.setWatermark(database, table, markOf(checkpoint));

/** Puts all five after the same checkpoint. */
export const setWatermarks = async (database: TestDatabase, checkpoint: bigint): Promise<void> => {
  for (const { watermark } of PIPELINES) await setWatermark(database, watermark, checkpoint);
};

/** Moves the log's high-water mark after a checkpoint, unless it is there already. */
export const setHighWater = async (
  database: TestDatabase,
  checkpoint: bigint,
  firstCheckpoint = 0n,
): Promise<void> => {
  const identity = { chainId: "c4a1", packages: [PACKAGE], firstCheckpoint };
  const log = await openLog(database, identity);
  const { nextCheckpoint: first } = await log.highWater();
  if (first > checkpoint) return;
  const marks = [...marksOf(first, checkpoint)].map(({ sequence }) => markOf(sequence));
  const blocks = piecesOf(marks);
  await log.append({ first, last: markOf(checkpoint), facts: [], marks: [], blocks }, []);
};
