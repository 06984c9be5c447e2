/** What one transaction did to the register: `transaction`. */
import { senderOf } from "../log/senders.ts";
import type { BalanceChange as Change } from "../projections/balance-changes.ts";
import { balanceChangesWithin } from "../projections/changes-across.ts";
import { type HeldIn, NO_COIN } from "../projections/held-coins.ts";
import { type HolderEvent as HolderRow, holderEventsWithin } from "../projections/holder-events.ts";
import { ALL } from "../projections/needed.ts";
import { assertCommitted } from "../projections/past.ts";
import { placeOf, transactionAt } from "../projections/position.ts";
import { type RoleEvent as RoleRow, roleEventsWithin } from "../projections/roles.ts";
import {
  type TokenActivity as Activity,
  tokenActivityWithin,
} from "../projections/token-activity.ts";
import { type FoundTransaction, transactionOf } from "../projections/transactions.ts";
import { BalanceChange, placesOfChange } from "./balance-changes.ts";
import { builder } from "./builder.ts";
import { type WithHolders, withHolders } from "./event-holder.ts";
import { checkpointTimestampField, checkpointTimestampMsField } from "./fields.ts";
import { HolderEvent } from "./holder-events.ts";
import { digestOf } from "./input.ts";
import { RoleEvent } from "./role-events.ts";
import { placesOfMovement, TokenActivity } from "./token-activity.ts";

type Shown = Pick<FoundTransaction, "txDigest" | "timestampMs"> & {
  readonly checkpoint: bigint;
  readonly sender: () => Promise<string | null>;
  readonly activity: () => Promise<readonly (Activity & WithHolders)[]>;
  readonly changes: () => Promise<readonly (Change & WithHolders)[]>;
  readonly holderEvents: () => Promise<readonly HolderRow[]>;
  readonly roleEvents: () => Promise<readonly RoleRow[]>;
};

/** More rows than a transaction of Sui can have: it emits at most 1024 events and writes at most 2048 objects. */
const MOST_ROWS = 5_000;

/** Rows of a list, a high estimate. */
const EXPECTED_ROWS = 20;
const EVENTS_COST = { field: 1, multiplier: EXPECTED_ROWS };

const Transaction = builder.objectRef<Shown>("Transaction").implement({
  description: "What one transaction did to the register. Written once, never changed.",
  fields: (t) => ({
    digest: t.exposeString("txDigest", { description: "Digest of the transaction, base58." }),
    checkpoint: t.exposeString("checkpoint", { description: "Checkpoint that holds it, decimal." }),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
    sender: t.string({
      nullable: true,
      description: "Address that signed it; null where the facts of its checkpoint were archived.",
      resolve: ({ sender }) => sender(),
    }),
    activity: t.field({
      type: [TokenActivity],
      description: "Its movements of tokens, in order.",
      complexity: EVENTS_COST,
      resolve: ({ activity }) => activity(),
    }),
    changes: t.field({
      type: [BalanceChange],
      description: "The balances that it changed, by owner and part.",
      complexity: EVENTS_COST,
      resolve: ({ changes }) => changes(),
    }),
    holderEvents: t.field({
      type: [HolderEvent],
      description: "Its changes of the holder register, in order.",
      complexity: EVENTS_COST,
      resolve: ({ holderEvents }) => holderEvents(),
    }),
    roleEvents: t.field({
      type: [RoleEvent],
      description: "The roles that it granted and revoked, in order.",
      complexity: EVENTS_COST,
      resolve: ({ roleEvents }) => roleEvents(),
    }),
  }),
});

builder.queryField("transaction", (t) =>
  t.field({
    type: Transaction,
    nullable: true,
    description:
      "What one transaction did to the register, of all coin types; null when the register knows nothing of it. " +
      "NOT_YET_INDEXED while one of the five pipelines has not committed its checkpoint. Rows of a coin in quarantine " +
      "are left out; extensions.quarantined names it.",
    args: {
      digest: t.arg.string({ required: true, description: "Digest of the transaction, base58." }),
    },
    reads: { pipelines: () => ALL, several: () => true },
    resolve: async (_root, args, context) => {
      const digest = digestOf(args.digest);
      let held: readonly HeldIn[] = [];
      const found = await transactionOf(
        context.reads.upToHolds((all) => {
          held = all;
        }),
        digest,
      );
      const ofNone = context.reads.ofCoin(NO_COIN);
      context.leftOut.add(held);
      if (found === null) return null;
      const place = placeOf(found.position);
      const { checkpoint } = place;
      assertCommitted(checkpoint, await ofNone.committed());
      const without = new Set(
        held.filter(({ from }) => from <= checkpoint).map(({ coinType }) => coinType),
      );
      const range = { ...transactionAt(found.position), limit: MOST_ROWS };
      const served = async <Row extends { readonly coinType: string }>(rows: Promise<Row[]>) => {
        const kept = (await rows).filter(({ coinType }) => !without.has(coinType));
        // Their decimals are then known.
        for (const coinType of new Set(kept.map((row) => row.coinType))) {
          await context.coinType(coinType);
        }
        return kept;
      };
      return {
        ...found,
        checkpoint,
        sender: () => senderOf(ofNone, place),
        activity: async () => {
          const rows = await served(tokenActivityWithin(ofNone, range));
          return withHolders(rows, { placesOf: placesOfMovement });
        },
        changes: async () => {
          const rows = await served(balanceChangesWithin(ofNone, range));
          return withHolders(rows, { placesOf: placesOfChange });
        },
        holderEvents: () => served(holderEventsWithin(ofNone, range)),
        roleEvents: async () =>
          served(roleEventsWithin(ofNone, { ...range, packages: await context.packages() })),
      };
    },
  }),
);
