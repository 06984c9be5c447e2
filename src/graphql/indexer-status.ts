/** How far each pipeline is, and the digest of its rows: `indexerStatus`, `pipelineDigest`. */

import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { pipelineDigest } from "../projections/digests.ts";
import { type HeldIn, MOST_HELD } from "../projections/held-coins.ts";
import { readWatermarks, type Watermark } from "../projections/read-watermarks.ts";
import type {
  BackfillProgress as Backfill,
  GuidedProgress as Guided,
} from "../values/bulk-progress.ts";
import { ageSeconds, unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { show } from "./input.ts";
import { asOfIn } from "./past.ts";
import { MOST_SECONDS, ReplayProgress } from "./replays.ts";
import { subscriberOf } from "./streams/subscription.ts";

/**
 * Age of a pipeline that has committed nothing: the largest Int. A consumer with a bound on the age refuses it,
 * but would accept null, which many languages read as zero.
 */
const NEVER_SECONDS = 2_147_483_647;

const QuarantinedCoin = builder.objectRef<HeldIn>("QuarantinedCoin").implement({
  description:
    "A coin with a fact that the pipeline could not apply: its facts from there on are not in the rows. Queries of the coin " +
    "that need the pipeline fail with the code QUARANTINED.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    checkpoint: t.string({
      description: "First checkpoint whose facts of the coin are not in the rows, decimal.",
      resolve: ({ from }) => from.toString(),
    }),
    reason: t.exposeString("reason", { description: "Why the fact could not be applied." }),
    since: t.exposeString("since", { description: "When that was found, ISO 8601." }),
  }),
});

const GuidedProgress = builder.objectRef<Guided>("GuidedProgress").implement({
  description:
    "Guided reading of a range of the log: it finds all checkpoints that concern the contract before it appends any.",
  fields: (t) => ({
    step: t.exposeString("step", {
      description:
        "`lists`, `metadata`, `objects`, `walking back`, `newest versions` or `appending`; versions may add others.",
    }),
    fetched: t.exposeFloat("fetched", { description: "Checkpoints fetched so far." }),
    bytes: t.exposeFloat("bytes", { description: "Their bytes." }),
    objects: t.exposeFloat("objects", { description: "Objects of the contract met so far." }),
    open: t.exposeFloat("open", {
      description: "Objects of these whose chain of versions has a gap.",
    }),
    at: t.exposeString("at", {
      nullable: true,
      description: "Checkpoint fetched last, decimal; null before the first.",
    }),
    last: t.exposeString("last", { description: "Last checkpoint of the range, decimal." }),
  }),
});

const BackfillProgress = builder.objectRef<Backfill>("BackfillProgress").implement({
  description:
    "A backfill that is divided among workers: they read ranges ahead of the log, and one process appends them in order.",
  fields: (t) => ({
    at: t.exposeString("at", {
      nullable: true,
      description: "Last checkpoint in the log, decimal; null before the first.",
    }),
    last: t.exposeString("last", { description: "Last checkpoint of the backfill, decimal." }),
    ratePerSecond: t.exposeFloat("ratePerSecond", {
      description: "Checkpoints appended a second, over five minutes at most; 0 before the first.",
    }),
    secondsLeft: t.int({
      nullable: true,
      description: "Whole seconds until it is done at this rate; null while the rate is 0.",
      resolve: ({ secondsLeft }) => secondsLeft && Math.min(MOST_SECONDS, secondsLeft),
    }),
    workers: t.exposeInt("workers", {
      description: "Workers that read a range in the last minute.",
    }),
    waitingRanges: t.exposeInt("waitingRanges", {
      description: "Ranges that are planned and wait for a worker, or are being read.",
    }),
    readRanges: t.exposeInt("readRanges", { description: "Ranges read and not appended yet." }),
    failedRanges: t.exposeInt("failedRanges", {
      description: "Waiting ranges whose last reading failed; they are read again.",
    }),
    failure: t.exposeString("failure", {
      nullable: true,
      description: "The first one's checkpoint and reason; null without one.",
    }),
  }),
});

/** Of a pipeline, a high estimate. */
const EXPECTED_HELD = 5;

const IndexerStatus = builder.objectRef<Watermark>("IndexerStatus").implement({
  description:
    "Watermark of one pipeline. Each pipeline has its own. What each serves: " +
    `${ledgerPipelines.map(({ name, queries }) => `${name}: ${queries.join(", ")}`).join("; ")}.`,
  fields: (t) => ({
    pipeline: t.exposeString("pipeline", { description: "Name of the pipeline." }),
    checkpoint: t.string({
      nullable: true,
      description: "Last committed checkpoint, decimal; null before the first.",
      resolve: ({ mark }) => mark?.checkpoint.toString() ?? null,
    }),
    checkpointTimestamp: t.string({
      nullable: true,
      description: "Time of that checkpoint, unix seconds, decimal; null before the first.",
      resolve: ({ mark }) => (mark === null ? null : unixSeconds(mark.timestampMs).toString()),
    }),
    digest: t.string({
      nullable: true,
      description:
        "Digest over all rows of the pipeline up to that checkpoint, hex without 0x: two deployments with " +
        "equal digests at a checkpoint have equal rows. Null before the first checkpoint, while " +
        "the digests of an upgraded database are being filled in, and while a coin is in quarantine.",
      resolve: ({ digest }) => digest,
    }),
    historyFilledThrough: t.string({
      nullable: true,
      description:
        "Checkpoint up to which tables that an upgrade added are filled in; at first the one before the log's " +
        "first. Null when nothing is being filled in.",
      resolve: ({ filledThrough }) => filledThrough?.toString() ?? null,
    }),
    rebuildingTo: t.string({
      nullable: true,
      description:
        "The checkpoint at which a rebuild ends, decimal; until then fields that need the pipeline fail " +
        "with the code REBUILDING. Null when no rebuild is under way.",
      resolve: ({ rebuildingTo }) => rebuildingTo?.toString() ?? null,
    }),
    pausedSince: t.string({
      nullable: true,
      description:
        "Since when an operator pauses the pipeline, ISO 8601: its rows stay as of its checkpoint, and fields " +
        "that need it are answered from them. Null while it is not paused.",
      resolve: ({ pausedSince }) => pausedSince,
    }),
    quarantined: t.field({
      type: [QuarantinedCoin],
      complexity: { field: 1, multiplier: EXPECTED_HELD },
      description: `Coins in quarantine, by coin type; at most ${MOST_HELD}.`,
      resolve: ({ quarantined }) => [...quarantined],
    }),
    rebuilding: t.field({
      type: ReplayProgress,
      nullable: true,
      description:
        "Rows that are made again meanwhile; the old ones are served until then. Null when nothing runs.",
      resolve: ({ rebuilding }) => rebuilding,
    }),
    guided: t.field({
      type: GuidedProgress,
      nullable: true,
      description:
        "Guided reading of the log under way, as its process reported in the last seconds: the same for all " +
        "pipelines, which wait for what it appends. Null when none runs.",
      resolve: ({ guided }) => guided,
    }),
    backfill: t.field({
      type: BackfillProgress,
      nullable: true,
      description:
        "Backfill by many workers, as the process that appends reported in the last seconds: the same for all " +
        "pipelines. Null when none runs.",
      resolve: ({ backfill }) => backfill,
    }),
    ageSeconds: t.int({
      description:
        "Whole seconds since that checkpoint. Near the network's checkpoint interval in steady state; " +
        `large means stale, ${NEVER_SECONDS} that nothing is committed yet.`,
      resolve: ({ mark }, _args, { now }) =>
        mark === null
          ? NEVER_SECONDS
          : Math.min(NEVER_SECONDS, ageSeconds(mark.timestampMs, now())),
    }),
  }),
});

builder.queryField("indexerStatus", (t) =>
  t.field({
    type: [IndexerStatus],
    nullable: true,
    description: `Watermarks: ${ledgerPipelines.map(({ name }) => name).join(", ")}, in this order.`,
    complexity: { field: 1, multiplier: ledgerPipelines.length },
    reads: { pipelines: () => [] },
    resolve: async (_root, _args, { watermarkReads, pipelines }) =>
      (await readWatermarks(watermarkReads, pipelines)).pipelines,
  }),
);

builder.subscriptionField("indexerStatus", (t) =>
  t.field({
    type: [IndexerStatus],
    description:
      "All watermarks: immediately, and then whenever one has moved, at most four times a second.",
    complexity: { field: 1, multiplier: ledgerPipelines.length },
    subscribe: (_root, _args, context) => {
      const { watcher, signal } = subscriberOf(context);
      return watcher.status(signal);
    },
    resolve: ({ row }) => [...row],
  }),
);

builder.queryField("pipelineDigest", (t) =>
  t.field({
    type: "String",
    nullable: true,
    description:
      "Digest over all rows of a pipeline up to the end of a checkpoint, hex without 0x; 32 zero bytes " +
      "before its first rows. Equal digests mean equal rows, whatever the deployment.",
    args: {
      pipeline: t.arg.string({
        required: true,
        description: "A name as indexerStatus shows it.",
      }),
      atCheckpoint: t.arg.string({
        required: true,
        description: "Decimal. NOT_YET_INDEXED while the pipeline has not committed it.",
      }),
    },
    reads: { pipelines: () => [] },
    resolve: async (_root, { pipeline: name, atCheckpoint }, { watermarkReads, pipelines }) => {
      const found = pipelines.find((pipeline) => pipeline.name === name);
      if (found === undefined) {
        const known = pipelines.map((pipeline) => pipeline.name).join(", ");
        throw badInput(`pipeline must be one of ${known}; it is ${show(name)}`, {
          argument: "pipeline",
          reason: "UNKNOWN_VALUE",
        });
      }
      const asOf = asOfIn({ atCheckpoint });
      const at = asOf?.kind === "checkpoint" ? asOf.checkpoint : 0n;
      return pipelineDigest(watermarkReads, found, at);
    },
  }),
);
