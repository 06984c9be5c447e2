/** What the answers of a request are of: `_meta`. */
import { unixSeconds } from "../http/health/health.ts";
import { type Meta as Row, readMeta } from "../projections/meta.ts";
import { builder } from "./builder.ts";

const Meta = builder.objectRef<Row>("Meta").implement({
  description: "What all answers of one request are of: they are read from one snapshot.",
  fields: (t) => ({
    checkpoint: t.string({
      nullable: true,
      description:
        "The last checkpoint that all five pipelines have committed, decimal; null before the first.",
      resolve: ({ last }) => last?.sequence.toString() ?? null,
    }),
    checkpointTimestamp: t.string({
      nullable: true,
      description: "Time of that checkpoint, unix seconds, decimal; null before the first.",
      resolve: ({ last }) => (last === null ? null : unixSeconds(last.timestampMs).toString()),
    }),
    checkpointDigest: t.string({
      nullable: true,
      description: "Digest of that checkpoint, base58; null before the first.",
      resolve: ({ last }) => last?.digest ?? null,
    }),
    chainId: t.exposeString("chainId", {
      nullable: true,
      description: "Chain the log was read from; null while its source could not tell.",
    }),
    firstCheckpoint: t.string({
      nullable: true,
      description: "Where the log begins, decimal; null before anything was read.",
      resolve: ({ firstCheckpoint }) => firstCheckpoint?.toString() ?? null,
    }),
    historyCheckpoint: t.string({
      nullable: true,
      description:
        "From this checkpoint on the past can be asked for, decimal. Larger than firstCheckpoint only " +
        "while the history of an upgraded database is being filled in. Times of old checkpoints may be " +
        "filled in later still: atTimestamp then says NOT_YET_INDEXED.",
      resolve: ({ historyCheckpoint }) => historyCheckpoint?.toString() ?? null,
    }),
  }),
});

builder.queryField("_meta", (t) =>
  t.field({
    type: Meta,
    nullable: true,
    description: "The checkpoint up to which every answer of this request is complete.",
    resolve: async (_root, _args, { watermarkReads }) => readMeta(watermarkReads),
  }),
);
