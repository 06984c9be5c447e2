/** A token over time: `supply`, `holderCounts`. Each point is a past answer. */
import type { CheckpointMark } from "../log/fact.ts";
import type { GuardedReads } from "../projections/guarded-reads.ts";
import { NO_COIN } from "../projections/held-coins.ts";
import { type HolderCounts, holderCountsAt } from "../projections/holder-counts.ts";
import { FOR_CAP_TABLES, FOR_TOKEN_OBJECTS } from "../projections/needed.ts";
import { suppliesAt } from "../projections/supplies.ts";
import { token } from "../projections/tokens.ts";
import { highest, lowest } from "../values/bigints.ts";
import { unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { coinTypeArgument, secondsIn } from "./input.ts";
import { checkpointOf, lastOfSecond, markOf } from "./past.ts";

const DEFAULT_POINTS = 60;
const MOST_POINTS = 400;

const seriesArguments = builder.args((t) => ({
  coinType: t.string(coinTypeArgument),
  from: t.string({
    description:
      "First moment, unix seconds, decimal. Default, and the earliest: the time of the token's first checkpoint.",
  }),
  to: t.string({
    description:
      "Last moment, unix seconds, decimal. Default, and the latest: the last committed checkpoint.",
  }),
  points: t.int({
    defaultValue: DEFAULT_POINTS,
    description: `Evenly spaced moments, 2 to ${MOST_POINTS}. Those of one checkpoint give one point.`,
  }),
}));

type Arguments = {
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
  readonly points?: number | null | undefined;
};

const pointsOf = ({ points }: Arguments): number => {
  const count = points ?? DEFAULT_POINTS;
  if (count >= 2 && count <= MOST_POINTS) return count;
  throw badInput(`points must be from 2 to ${MOST_POINTS}; it is ${count}`);
};

/** A moment is found by one statement, and its time by another. */
const seriesCost = ({ points }: Arguments) => ({
  field: 1,
  multiplier: Math.min(Math.max(points ?? DEFAULT_POINTS, 2), MOST_POINTS),
});

type Series = {
  readonly reads: GuardedReads;
  /** Ascending, each once; empty for a token that was not seen. */
  readonly marks: readonly CheckpointMark[];
};

/**
 * The checkpoints of a series.
 * @throws BAD_USER_INPUT when it ends before it begins; NotYetIndexedError (wait)
 */
const seriesOf = async (
  present: GuardedReads,
  coinType: string,
  { from, to, points }: Arguments,
): Promise<Series> => {
  const count = pointsOf({ points });
  const [begin, end] = [secondsIn(from, "from"), secondsIn(to, "to")];
  const last = await checkpointOf(present, undefined);
  const reads = present.at(last);
  const ofNone = reads.ofCoin(NO_COIN);
  const found = await token(reads, { coinType, at: last });
  if (found === null) return { reads, marks: [] };
  const [oldest, newest] = await Promise.all([
    markOf(ofNone, found.firstCheckpoint),
    markOf(ofNone, last),
  ]);
  const bounds = [oldest.timestampMs / 1000n, newest.timestampMs / 1000n] as const;
  const [first, final] = [highest(bounds[0], begin ?? 0n), lowest(bounds[1], end ?? bounds[1])];
  if (begin !== undefined && end !== undefined && begin > end) {
    throw badInput(`from must not be later than to; they are ${begin} and ${end}`);
  }
  if (first > final) return { reads, marks: [] };
  const moments = Array.from(
    { length: count },
    (_, index) => first + ((final - first) * BigInt(index)) / BigInt(count - 1),
  );
  const checkpoints = await Promise.all(
    [...new Set(moments)].map((second) => lastOfSecond(ofNone, second, last)),
  );
  const wanted = [...new Set(checkpoints)].filter((one) => one >= found.firstCheckpoint);
  return { reads, marks: await Promise.all(wanted.map((one) => markOf(ofNone, one))) };
};

type Placed = { readonly mark: CheckpointMark };

const checkpointOfPoint = {
  description: "The point is that of the end of this checkpoint, decimal.",
  resolve: ({ mark }: Placed) => mark.sequence,
};

const timestampOfPoint = {
  description: "Time of that checkpoint, unix seconds, decimal.",
  resolve: ({ mark }: Placed) => unixSeconds(mark.timestampMs),
};

const SupplyPoint = builder
  .objectRef<Placed & { readonly totalSupply: bigint | null }>("SupplyPoint")
  .implement({
    description: "The supply of a token at the end of a checkpoint.",
    fields: (t) => ({
      checkpoint: t.string(checkpointOfPoint),
      checkpointTimestamp: t.string(timestampOfPoint),
      totalSupply: t.exposeString("totalSupply", {
        nullable: true,
        description:
          "Supply in the treasury object, in the smallest unit, decimal; null until one was seen.",
      }),
    }),
  });

const HolderCountPoint = builder.objectRef<Placed & HolderCounts>("HolderCountPoint").implement({
  description: "How many hold a token at the end of a checkpoint.",
  fields: (t) => ({
    checkpoint: t.string(checkpointOfPoint),
    checkpointTimestamp: t.string(timestampOfPoint),
    holders: t.exposeInt("holders", { description: "As Token.holderCount." }),
    owners: t.exposeInt("owners", { description: "As Token.ownerCount." }),
  }),
});

builder.queryField("supply", (t) =>
  t.field({
    type: [SupplyPoint],
    nullable: true,
    description:
      "The supply of a token at evenly spaced moments, oldest first: each point is token(atTimestamp) of its moment, " +
      "the last one that of the last committed checkpoint. Moments before the token was seen are left out.",
    args: seriesArguments,
    complexity: seriesCost,
    // A moment takes two statements.
    reads: { pipelines: () => FOR_TOKEN_OBJECTS, several: () => true, long: () => true },
    resolve: async (_root, args, context) => {
      const coinType = await context.coinType(args.coinType);
      const { reads, marks } = await seriesOf(context.reads.ofCoin(coinType), coinType, args);
      const checkpoints = marks.map(({ sequence }) => sequence);
      const supplies = await suppliesAt(reads, coinType, checkpoints);
      return marks.map((mark, index) => ({ mark, totalSupply: supplies[index] ?? null }));
    },
  }),
);

/** The beginning and end of every wallet's balance is read. */
const COUNTS_COST = 1_000;

builder.queryField("holderCounts", (t) =>
  t.field({
    type: [HolderCountPoint],
    nullable: true,
    description:
      "How many hold a token at evenly spaced moments, as supply: each point has the counts of token(atTimestamp). " +
      "The beginning and end of every wallet's balance is read once, whatever the number of points: 100,000 wallets " +
      "that ever held take about two seconds, and where they take longer than STATEMENT_TIMEOUT_MS, fewer points do not help.",
    args: seriesArguments,
    complexity: (args) => ({ ...seriesCost(args), field: COUNTS_COST }),
    reads: { pipelines: () => FOR_CAP_TABLES, several: () => true, long: () => true },
    resolve: async (_root, args, context) => {
      const coinType = await context.coinType(args.coinType);
      const { reads, marks } = await seriesOf(context.reads.ofCoin(coinType), coinType, args);
      const checkpoints = marks.map(({ sequence }) => sequence);
      const counts = await holderCountsAt(reads, coinType, checkpoints);
      return marks.map((mark, index) => ({ mark, holders: 0, owners: 0, ...counts[index] }));
    },
  }),
);
