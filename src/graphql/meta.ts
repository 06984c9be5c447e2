/** The state of the ledger that a request is answered from: `_meta`. */

import { type Meta as Row, readMeta } from "../projections/meta.ts";
import { ALL } from "../projections/needed.ts";
import { followPosition } from "../projections/position.ts";
import { highest } from "../values/bigints.ts";
import { unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import { pastArguments } from "./fields.ts";
import {
  asOfIn,
  assertMinCheckpoint,
  checkpointOf,
  isPast,
  markOf,
  minCheckpointIn,
} from "./past.ts";

const ReadFrom = builder.enumType("ReadFrom", {
  description: "Which checkpoints the log was read from.",
  values: {
    FULL: { description: "Every checkpoint of the chain since firstCheckpoint." },
    GUIDED: {
      description:
        "For a part of the chain only the checkpoints that concern the contract: a node's lists say which. " +
        "completeThrough says how far they are proven to be all.",
    },
  } as const,
});

const Meta = builder.objectRef<Row>("Meta").implement({
  description: "The state that all answers of one request are read from: one snapshot.",
  fields: (t) => ({
    checkpoint: t.string({
      nullable: true,
      description:
        "The last checkpoint that all five pipelines have committed, decimal; null before the first.",
      resolve: ({ last }) => last?.sequence ?? null,
    }),
    checkpointTimestamp: t.string({
      nullable: true,
      description: "Time of that checkpoint, unix seconds, decimal; null before the first.",
      resolve: ({ last }) => last && unixSeconds(last.timestampMs),
    }),
    checkpointDigest: t.string({
      nullable: true,
      description: "Digest of that checkpoint, base58; null before the first.",
      resolve: ({ last }) => last?.digest ?? null,
    }),
    followPosition: t.string({
      nullable: true,
      description:
        "Position after everything up to that checkpoint, decimal: pass it as after to the query or the subscription " +
        "tokenActivity, holderEvents or roleEvents for exactly the events after a copy of that checkpoint. Null before the first.",
      resolve: ({ last }) => last && followPosition(last.sequence),
    }),
    readFrom: t.field({
      type: ReadFrom,
      description: "FULL, or GUIDED as soon as a part of the log was read guided.",
      resolve: ({ isGuided }) => (isGuided ? "GUIDED" : "FULL"),
    }),
    completeThrough: t.exposeString("completeThrough", {
      nullable: true,
      description:
        "Last checkpoint through which the register of all coins is proven complete, decimal: the versions of their " +
        "objects follow one another without a gap. Null while there is no such proof.",
    }),
    seesLabels: t.boolean({
      description: "Whether the caller's key sees labels; made with `keys create --labels`.",
      resolve: (_meta, _args, { labels }) => labels.sees,
    }),
    chainId: t.exposeString("chainId", {
      nullable: true,
      description: "Chain the log was read from; null while the source does not name it.",
    }),
    firstCheckpoint: t.exposeString("firstCheckpoint", {
      nullable: true,
      description: "First checkpoint of the log, decimal; null before anything was read.",
    }),
    historyCheckpoint: t.string({
      nullable: true,
      description:
        "First checkpoint that can be queried and checked against its facts, decimal. Larger than firstCheckpoint only " +
        "while the history of an upgraded database is being filled in, and where facts were archived: rows before are " +
        "still answered. Times of old checkpoints may be filled in later still: atTimestamp then fails with NOT_YET_INDEXED.",
      resolve: ({ historyCheckpoint: filled, factsCheckpoint: facts }) =>
        filled === null || facts === null ? null : `${highest(filled, facts)}`,
    }),
  }),
});

builder.queryField("_meta", (t) =>
  t.field({
    type: Meta,
    nullable: true,
    description:
      "The checkpoint up to which every answer of this request is complete; with an argument the requested " +
      "checkpoint, once all five pipelines have committed it.",
    args: {
      ...pastArguments,
      minCheckpoint: t.arg.string({
        description:
          "Wait up to five seconds until this checkpoint is committed, and read the whole request after that, for " +
          "reads after a write of your own; NOT_YET_INDEXED if it is not. The header X-Min-Checkpoint does the same.",
      }),
    },
    reads: {
      pipelines: (args) => (isPast(args) ? ALL : []),
      several: isPast,
      minCheckpoint: minCheckpointIn,
    },
    resolve: async (_root, args, { watermarkReads, reads }) => {
      assertMinCheckpoint(args);
      const asOf = asOfIn(args);
      const meta = await readMeta(watermarkReads);
      if (asOf === undefined) return meta;
      const checkpoint = await checkpointOf(reads, asOf);
      return { ...meta, last: await markOf(watermarkReads, checkpoint) };
    },
  }),
);
