/** What two deployments compare: `pipelineDigest`. */
import { pipelineDigest } from "../projections/digests.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { show } from "./input.ts";
import { asOfIn } from "./past.ts";

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
      if (found?.digests === undefined) {
        const known = pipelines.map((pipeline) => pipeline.name).join(", ");
        throw badInput(`pipeline must be one of ${known}; it is ${show(name)}`);
      }
      const asOf = asOfIn({ atCheckpoint });
      const at = asOf?.kind === "checkpoint" ? asOf.checkpoint : 0n;
      const { watermark, digests } = found;
      return pipelineDigest(watermarkReads, { watermark, digests }, at);
    },
  }),
);
