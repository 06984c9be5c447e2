/** Fields that several types have, and arguments that several queries have. */
import { unixSeconds } from "../values/seconds.ts";
import { builder } from "./builder.ts";
import type { GraphContext } from "./context.ts";
import { coinTypeArgument, limitArgument, sinceArgument } from "./input.ts";

export const eventIdField = {
  description: "{txDigest}-{eventSeq}; the same after any replay.",
  resolve: ({ txDigest, eventSeq }: { readonly txDigest: string; readonly eventSeq: number }) =>
    `${txDigest}-${eventSeq}`,
};

export const positionField = {
  description: "Place in chain order, decimal; rises with the chain, the same after any replay.",
};

export const checkpointField = { description: "Checkpoint that holds the transaction, decimal." };

export const checkpointTimestampField = {
  description: "Time of the checkpoint, unix seconds, decimal.",
  resolve: ({ timestampMs }: { readonly timestampMs: bigint }) => unixSeconds(timestampMs),
};

export const checkpointTimestampMsField = {
  description: "Time of the checkpoint, milliseconds since the Unix epoch, decimal.",
  resolve: ({ timestampMs }: { readonly timestampMs: bigint }) => timestampMs,
};

/** Of rows that carry it: for lists, as a compiled query calls each resolver with closures of its own. */
export const exposedDecimals = {
  nullable: true,
  description: "Decimals of the coin; null until its metadata is known.",
} as const;

export const decimalsField = {
  ...exposedDecimals,
  resolve: (
    { coinType }: { readonly coinType: string },
    _args: object,
    { decimals }: GraphContext,
  ) => decimals(coinType),
} as const;

/** Of lists along the chain. */
export const staleArgument = {
  description:
    "While the coin is in quarantine, answer with the rows before it instead of the error QUARANTINED.",
} as const;

/** Order of lists along the chain. */
export const SortOrder = builder.enumType("SortOrder", {
  description: "Order along the chain.",
  values: {
    ASC: { description: "Oldest first." },
    DESC: { description: "Newest first." },
  },
});

export const logArguments = builder.args((t) => ({
  coinType: t.string(coinTypeArgument),
  sinceTimestamp: t.string(sinceArgument),
  limit: t.int(limitArgument),
  after: t.string({
    description:
      "Position of the last event seen: only events after it in the chosen order (later ones with ASC, earlier ones with DESC).",
  }),
  order: t.field({ type: SortOrder, defaultValue: "ASC", description: "Default: oldest first." }),
  allowStale: t.boolean(staleArgument),
}));

/** Arguments of queries that also answer about the past. */
export const pastArguments = builder.args((t) => ({
  atCheckpoint: t.string({
    description:
      "Answer as of the end of this checkpoint, decimal; such an answer never changes. " +
      "Fails with the code NOT_YET_INDEXED while the checkpoint is not indexed.",
  }),
  atTimestamp: t.string({
    description:
      "Answer as of the end of this second, unix seconds, decimal: as of the checkpoint before the first " +
      "one with a larger checkpointTimestamp. NOT_YET_INDEXED until that one is indexed. Not together with atCheckpoint.",
  }),
  allowStale: t.boolean({
    description:
      "Without atCheckpoint and atTimestamp: answer as of the last checkpoint that all needed pipelines have " +
      "committed or, while the coin is in quarantine, as of the one before, instead of the error QUARANTINED.",
  }),
}));
