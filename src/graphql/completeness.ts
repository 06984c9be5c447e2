/** What is shown about missing changes of a coin: `completeness`. */
import { type ShownComplete, shownComplete } from "../projections/shown-complete.ts";
import { builder } from "./builder.ts";
import { coinTypeArgument } from "./input.ts";

const CompletenessState = builder.enumType("CompletenessState", {
  description: "What is shown about missing changes.",
  values: {
    COMPLETE: { description: "A proof shows that no change is missing, up to `through`." },
    INCOMPLETE: {
      description: "A change is missing: from `missingFrom` on, queries of the coin are refused.",
    },
    NOT_SHOWN: { description: "Neither is shown: no proof was made, or none was conclusive." },
  } as const,
});

const Completeness = builder.objectRef<ShownComplete>("Completeness").implement({
  description:
    "What is shown about missing changes of a coin. It is answered for an incomplete coin, too.",
  fields: (t) => ({
    coinType: t.exposeString("coinType", { description: "Canonical coin type." }),
    state: t.field({
      type: CompletenessState,
      description: "The result.",
      resolve: ({ missing, through }) =>
        missing !== null ? "INCOMPLETE" : through === null ? "NOT_SHOWN" : "COMPLETE",
    }),
    through: t.string({
      nullable: true,
      description:
        "Last checkpoint up to which a proof shows that no change is missing, decimal; null while none does.",
      resolve: ({ through }) => through?.toString() ?? null,
    }),
    provenAt: t.exposeString("provenAt", {
      nullable: true,
      description: "When that proof was made, ISO 8601; null without one.",
    }),
    isSigned: t.exposeBoolean("isSigned", {
      description:
        "Whether the deployment's key signed a certificate of it, which audit packs take in.",
    }),
    missingFrom: t.string({
      nullable: true,
      description: "First checkpoint that may lack a change, decimal; null while none is missing.",
      resolve: ({ missing }) => missing?.from.toString() ?? null,
    }),
    reason: t.string({
      nullable: true,
      description: "The object and its missing version; null while none is missing.",
      resolve: ({ missing }) => missing?.reason ?? null,
    }),
    since: t.string({
      nullable: true,
      description: "When that was found, ISO 8601; null while none is missing.",
      resolve: ({ missing }) => missing?.since ?? null,
    }),
  }),
});

builder.queryField("completeness", (t) =>
  t.field({
    type: Completeness,
    nullable: true,
    description:
      "What is shown about missing changes of a coin: the newest proof, and what reading noted since.",
    args: { coinType: t.arg.string(coinTypeArgument) },
    reads: { pipelines: () => [] },
    resolve: async (_root, { coinType }, context) =>
      shownComplete(context.watermarkReads, await context.coinType(coinType)),
  }),
);
