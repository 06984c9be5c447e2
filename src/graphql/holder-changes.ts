/** Changes of a holder's balance over all wallets that it had: `holder { history }`. */
import type { Reads } from "../database/readers.ts";
import {
  type HolderChange as Change,
  type HistoryPlace,
  ROW_KINDS,
} from "../projections/holder-history.ts";
import { positionsEnd } from "../projections/position.ts";
import { highest, lowest } from "../values/bigints.ts";
import { BalancePart, CAUSE_VALUES } from "./balance-changes.ts";
import { builder } from "./builder.ts";
import { checkpointField, checkpointTimestampField, checkpointTimestampMsField } from "./fields.ts";
import { numberIn, secondsIn } from "./input.ts";
import { lastOfSecond } from "./past.ts";

const HolderChangeCause = builder.enumType("HolderChangeCause", {
  description: "Why a holder's balance changed.",
  values: {
    ...CAUSE_VALUES,
    WALLET_ADDED: { description: "The holder got a wallet that had this balance." },
    WALLET_REMOVED: { description: "The holder lost a wallet that had this balance." },
  } as const,
});

/** Cursor of a row. */
export const changeCursor = ({ position, wallet, kind }: HistoryPlace): string =>
  `${position}:${wallet}:${kind}`;

export const HolderChange = builder.objectRef<Change>("HolderChange").implement({
  description:
    "How one transaction changed the balance of one of a holder's wallets, or gave or took a wallet that had one. A " +
    "wallet's changes in the transactions that give and take it count as the holder's.",
  fields: (t) => ({
    cursor: t.string({
      description: `\`<position>:<wallet>:<kind>\`, a kind of ${ROW_KINDS.join(", ")}: pass it as after for the rows after this one.`,
      resolve: changeCursor,
    }),
    position: t.exposeString("position", {
      description: "Place of the transaction in chain order, decimal; its last four digits are 0.",
    }),
    checkpoint: t.exposeString("checkpoint", checkpointField),
    checkpointTimestamp: t.string(checkpointTimestampField),
    checkpointTimestampMs: t.string(checkpointTimestampMsField),
    txDigest: t.exposeString("txDigest", { description: "Digest of the transaction, base58." }),
    wallet: t.exposeString("wallet", { description: "The holder's wallet." }),
    cause: t.expose("cause", { type: HolderChangeCause, description: "Why it changed." }),
    part: t.expose("part", {
      type: BalancePart,
      nullable: true,
      description: "The part that changed; null for WALLET_ADDED and WALLET_REMOVED: both.",
    }),
    change: t.exposeString("change", {
      description: "Amount of the change in the smallest unit, decimal; negative for a decrease.",
    }),
    totalAfter: t.exposeString("totalAfter", {
      description:
        "Balance of the holder after it, over all wallets that it had then, decimal: the sum of all changes up to here.",
    }),
    counterparty: t.exposeString("counterparty", {
      nullable: true,
      description:
        "The other wallet whose balance the transaction changed; null unless it is exactly one.",
    }),
    counterpartyHolderId: t.exposeString("counterpartyHolderId", {
      nullable: true,
      description: "Holder of that wallet after the transaction, decimal; null without one.",
    }),
  }),
});

/** Bounds of a history, all inclusive; they apply together. */
export const boundsArguments = builder.args((t) => ({
  fromCheckpoint: t.string({ description: "Only changes of this checkpoint and later, decimal." }),
  toCheckpoint: t.string({ description: "Only changes of this checkpoint and earlier, decimal." }),
  fromTimestamp: t.string({ description: "Only changes of this second and later, unix seconds." }),
  toTimestamp: t.string({ description: "Only changes of this second and earlier, unix seconds." }),
}));

type Bounds = { readonly [Name in keyof typeof boundsArguments]?: string | null | undefined };

/**
 * Positions from `from` to `end`, excluded.
 * @param at the last checkpoint of the history
 * @throws BAD_USER_INPUT for a bound that is no number; NotYetIndexedError (wait)
 */
export const boundsOf = async (reads: Reads, bounds: Bounds, at: bigint) => {
  const [fromCheckpoint, toCheckpoint] = [
    numberIn(bounds.fromCheckpoint, "fromCheckpoint", "a checkpoint"),
    numberIn(bounds.toCheckpoint, "toCheckpoint", "a checkpoint"),
  ];
  const [fromSecond, toSecond] = [
    secondsIn(bounds.fromTimestamp, "fromTimestamp"),
    secondsIn(bounds.toTimestamp, "toTimestamp"),
  ];
  const [before, last] = await Promise.all([
    fromSecond === undefined || fromSecond === 0n ? -1n : lastOfSecond(reads, fromSecond - 1n, at),
    toSecond === undefined ? at : lastOfSecond(reads, toSecond, at),
  ]);
  return {
    from: positionsEnd(lowest(at, highest(before, (fromCheckpoint ?? 0n) - 1n))),
    end: positionsEnd(lowest(at, last, toCheckpoint ?? at)),
  };
};
