/**
 * Filters of lists of events: a range of the chain, a wallet, a holder over its history. They become
 * positions and periods of wallets, which the projections find by their indexes.
 */
import type { GraphQLResolveInfo } from "graphql";
import type { Reads } from "../database/readers.ts";
import { checkpointBefore } from "../log/blocks.ts";
import { holderPeriods, holdersEnd, MOST_PERIODS } from "../projections/event-holders.ts";
import { allOf, type PositionBounds, type WalletPeriod } from "../projections/event-range.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { NO_COIN } from "../projections/held-coins.ts";
import { FOR_HOLDERS } from "../projections/needed.ts";
import { NotYetIndexedError, STILL_FILLING } from "../projections/past.ts";
import { positionsEnd } from "../projections/position.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import { highest, lowest } from "../values/bigints.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { showsHolders } from "./event-holder.ts";
import { holderIdOf, optionalOwnerOf, show } from "./input.ts";

const SECOND = "unix seconds, decimal, of the checkpoint's time";

/** Arguments of a range; all bounds are inclusive, and apply together. */
export const rangeArguments = builder.args((t) => ({
  fromCheckpoint: t.string({
    description: "Only events of this checkpoint and later ones, decimal.",
  }),
  toCheckpoint: t.string({
    description: "Only events of this checkpoint and earlier ones, decimal.",
  }),
  fromTimestamp: t.string({
    description: `Only events of this second and later (${SECOND}): from the first checkpoint that reaches it.`,
  }),
  toTimestamp: t.string({
    description: `Only events of this second and earlier (${SECOND}): as of its end, like atTimestamp.`,
  }),
}));

export const holderIdArgument = {
  description:
    "Only events of the wallets that this holder had when they happened (its number, decimal), over its whole history. " +
    "With owner: of that wallet while the holder had it. The list ends where holder_lifecycle has committed.",
} as const;

type RangeArguments = {
  readonly fromCheckpoint?: string | null | undefined;
  readonly toCheckpoint?: string | null | undefined;
  readonly fromTimestamp?: string | null | undefined;
  readonly toTimestamp?: string | null | undefined;
};

/** As the caller gave it. */
export type AskedRange = {
  readonly fromCheckpoint: bigint | undefined;
  readonly toCheckpoint: bigint | undefined;
  readonly fromTimestamp: bigint | undefined;
  readonly toTimestamp: bigint | undefined;
};

/** Larger checkpoints fit no position. */
const MAX_CHECKPOINT = 9_000_000_000n;

/** Larger times in milliseconds do not fit 63 bits. */
const MAX_SECONDS = 9_000_000_000_000_000n;

const numberIn = (
  args: RangeArguments,
  name: keyof AskedRange,
  most: bigint,
): bigint | undefined => {
  const text = args[name];
  if (text === null || text === undefined) return undefined;
  if (!/^\d{1,20}$/.test(text)) {
    const kind = name.endsWith("Checkpoint") ? "a checkpoint" : "unix seconds";
    throw badInput(`${name} must be ${kind}, decimal, such as "1700000000"; it is ${show(text)}`, {
      argument: name,
      reason: "MALFORMED",
    });
  }
  const number = BigInt(text);
  return number < most ? number : most;
};

/** @throws BAD_USER_INPUT when one is no decimal number, or a range ends before it begins */
export const rangeOf = (args: RangeArguments): AskedRange => {
  const range = {
    fromCheckpoint: numberIn(args, "fromCheckpoint", MAX_CHECKPOINT),
    toCheckpoint: numberIn(args, "toCheckpoint", MAX_CHECKPOINT),
    fromTimestamp: numberIn(args, "fromTimestamp", MAX_SECONDS),
    toTimestamp: numberIn(args, "toTimestamp", MAX_SECONDS),
  };
  for (const [from, to] of [
    ["fromCheckpoint", "toCheckpoint"],
    ["fromTimestamp", "toTimestamp"],
  ] as const) {
    const [begin, end] = [range[from], range[to]];
    if (begin === undefined || end === undefined || begin <= end) continue;
    throw badInput(`${from} must not be larger than ${to}; they are ${begin} and ${end}`, {
      argument: from,
      reason: "CONFLICTS_WITH",
      conflictsWith: to,
    });
  }
  return range;
};

/** For `several` of a field's `reads`: bounds in time are found by statements of their own. */
export const isInTime = ({ fromTimestamp, toTimestamp }: RangeArguments): boolean =>
  fromTimestamp != null || toTimestamp != null;

/**
 * The positions of a range.
 * @throws NotYetIndexedError (wait) while times from before an upgrade are being filled in
 */
export const positionsOf = async (
  reads: GuardedReads,
  range: AskedRange,
): Promise<PositionBounds> => {
  const ofNone = reads.ofCoin(NO_COIN);
  const { fromCheckpoint, toCheckpoint, fromTimestamp, toTimestamp } = range;
  const [before, last] = await Promise.all([
    fromTimestamp === undefined || fromTimestamp === 0n
      ? undefined
      : lastOf(ofNone, fromTimestamp - 1n),
    toTimestamp === undefined ? undefined : lastOf(ofNone, toTimestamp),
  ]);
  const begins = oneOf(
    highest,
    fromCheckpoint === undefined ? undefined : positionsEnd(fromCheckpoint - 1n),
    before && (before.known ? positionsEnd(before.checkpoint) : NEVER),
  );
  const ends = oneOf(
    lowest,
    toCheckpoint === undefined ? undefined : positionsEnd(toCheckpoint),
    last?.known ? positionsEnd(last.checkpoint) : undefined,
  );
  return { begins, ends };
};

/** No checkpoint of that second or later is known. */
const NEVER = positionsEnd(MAX_CHECKPOINT);

/**
 * The last checkpoint with events that a second includes. Between two checkpoints that a guided reading read there are
 * no events, so the earlier one will do.
 */
const lastOf = async (
  reads: Reads,
  unixSeconds: bigint,
): Promise<{ readonly known: true; readonly checkpoint: bigint } | { readonly known: false }> => {
  const before = await checkpointBefore(reads, unixSeconds);
  switch (before.kind) {
    case "found":
      return { known: true, checkpoint: before.checkpoint };
    case "between":
      return { known: true, checkpoint: before.after };
    case "before_log":
      return { known: true, checkpoint: before.firstCheckpoint - 1n };
    case "not_yet":
      if (before.filling) throw new NotYetIndexedError(STILL_FILLING);
      return { known: false };
  }
};

/** The largest, or smallest, of those that are given. */
const oneOf = (
  choose: (first: bigint, ...others: readonly bigint[]) => bigint,
  ...values: readonly (bigint | undefined)[]
): bigint | undefined => {
  const [first, ...others] = values.filter((value) => value !== undefined);
  return first === undefined ? undefined : choose(first, ...others);
};

type WalletArguments = {
  readonly owner?: string | null | undefined;
  readonly holderId?: string | null | undefined;
};

/** Whose events are wanted; everyone's with neither. */
export type AskedWallets = {
  readonly owner: string | undefined;
  readonly holderId: bigint | undefined;
};

/** @throws BAD_USER_INPUT when one is malformed */
export const walletsOf = ({ owner, holderId }: WalletArguments): AskedWallets => ({
  owner: optionalOwnerOf(owner),
  holderId: holderIdOf(holderId),
});

/** Pipelines of a list that may be asked for a holder. */
export const neededFor = (
  list: readonly ProgressTables[],
  { holderId }: WalletArguments,
): readonly ProgressTables[] => (holderId == null ? list : [...list, ...FOR_HOLDERS]);

/** Reading every wallet of a holder. */
const OF_HOLDER_COST = 500;

export const holderCost = ({ holderId }: WalletArguments): number =>
  holderId == null ? 0 : OF_HOLDER_COST;

/** What a list reads. */
export type EventSelection = PositionBounds & {
  readonly wallets: readonly WalletPeriod[] | undefined;
};

/**
 * Positions and periods of what a caller asks for.
 * @param info of a list whose rows show holders: it ends where these are known
 * @throws BAD_USER_INPUT for a holder of more than 1,000 wallets; errors of `positionsOf`
 */
export const selectionOf = async (
  reads: GuardedReads,
  coinType: string,
  {
    range,
    wallets: { owner, holderId },
  }: { readonly range: AskedRange; readonly wallets: AskedWallets },
  info?: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">,
): Promise<EventSelection> => {
  const { begins, ends } = await positionsOf(reads, range);
  if (holderId === undefined) {
    const wallets = owner === undefined ? undefined : allOf(owner);
    const known = info && showsHolders(info) ? await holdersEnd(reads, coinType) : undefined;
    return { begins, ends: oneOf(lowest, ends, known), wallets };
  }
  const { periods, ending } = await holderPeriods(reads, { coinType, holderId, owner });
  if (periods === undefined) {
    throw badInput(
      `holder ${holderId} was given more than ${MOST_PERIODS} wallets; ask for one of them with owner, too`,
      { argument: "holderId", reason: "OUT_OF_RANGE" },
    );
  }
  return { begins, ends: oneOf(lowest, ends, ending), wallets: periods };
};
