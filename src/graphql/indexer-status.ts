/** How far each pipeline is: `indexerStatus`. */
import { ageSeconds, unixSeconds } from "../http/health/health.ts";
import { readWatermarks, type Watermark } from "../projections/read-watermarks.ts";
import { builder } from "./builder.ts";
import { subscriberOf } from "./streams/subscription.ts";

/**
 * Age of a pipeline that has committed nothing: the largest Int. A consumer that refuses data older
 * than some bound refuses these, which null (zero to many a language) would not make it do.
 */
const NEVER_SECONDS = 2_147_483_647;

const IndexerStatus = builder.objectRef<Watermark>("IndexerStatus").implement({
  description:
    "Watermark of one pipeline. Each has its own and can trail the others. What each serves: " +
    "token_activity: tokenActivity; shared_token_objects: tokenBalance, tokenObjects, tokenHolders; " +
    "timelock_objects: tokenTimelocks; holder_lifecycle: holderEvents; role_changes: walletRoles, roleEvents.",
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
        "equal digests at a checkpoint have equal rows. Null before the first checkpoint, and while " +
        "the digests of an upgraded database are being filled in.",
      resolve: ({ digest }) => digest,
    }),
    historyFilledThrough: t.string({
      nullable: true,
      description:
        "Last checkpoint up to which tables that an upgrade added are filled in: at the beginning the one before " +
        "the log's first. Null when nothing is being filled.",
      resolve: ({ filledThrough }) => filledThrough?.toString() ?? null,
    }),
    rebuildingTo: t.string({
      nullable: true,
      description:
        "The checkpoint that a rebuild has to come back to, decimal: until then fields that need the pipeline " +
        "are the error REBUILDING. Null when none is under way.",
      resolve: ({ rebuildingTo }) => rebuildingTo?.toString() ?? null,
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
    description:
      "Watermarks: token_activity, shared_token_objects, timelock_objects, holder_lifecycle, role_changes, in this order.",
    complexity: { field: 1, multiplier: 5 },
    reads: { pipelines: () => [] },
    resolve: async (_root, _args, { watermarkReads, pipelines }) =>
      (await readWatermarks(watermarkReads, pipelines)).pipelines,
  }),
);

builder.subscriptionField("indexerStatus", (t) =>
  t.field({
    type: [IndexerStatus],
    description:
      "The whole list of watermarks: at once, and then whenever one has moved, four times a second at most.",
    complexity: { field: 1, multiplier: 5 },
    subscribe: (_root, _args, context) => {
      const { watcher, signal } = subscriberOf(context);
      return watcher.status(signal);
    },
    resolve: ({ row }) => [...row],
  }),
);
