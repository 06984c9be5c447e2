/** Names that operators give to holders, wallets, roles and treasuries: `labels`. */
import { listLabels, type Label as Row } from "../labels/read.ts";
import type { LabelKind } from "../labels/tables.ts";
import { builder } from "./builder.ts";
import { limitArgument, limitOf, listCost, numberOf } from "./input.ts";

const KIND_DESCRIPTIONS: Readonly<Record<LabelKind, { readonly description: string }>> = {
  HOLDER: { description: "A holder of one coin." },
  WALLET: { description: "A wallet, for all coins." },
  ROLE: { description: "A role of one coin." },
  TREASURY: { description: "The treasury of one coin." },
};

const Kind = builder.enumType("LabelKind", {
  description: "What a label names.",
  values: KIND_DESCRIPTIONS,
});

const ofKind =
  (kind: LabelKind) =>
  (label: Row): string | null =>
    label.kind === kind ? label.subject : null;

export const Label = builder.objectRef<Row>("Label").implement({
  description:
    "A name that an operator gave. Labels are no part of the register: no digest, root, statement or pack has them.",
  fields: (t) => ({
    id: t.exposeString("id", { description: "Its id; a changed label has a new one." }),
    kind: t.field({ type: Kind, description: "What it names.", resolve: ({ kind }) => kind }),
    coinType: t.string({
      nullable: true,
      description: "Canonical coin type; null for a wallet.",
      resolve: ({ coinType }) => coinType || null,
    }),
    holderId: t.string({
      nullable: true,
      description: "Holder, decimal; null unless it names one.",
      resolve: ofKind("HOLDER"),
    }),
    address: t.string({
      nullable: true,
      description: "Wallet address, canonical; null unless it names one.",
      resolve: ofKind("WALLET"),
    }),
    role: t.string({
      nullable: true,
      description: "Type of the role, or its bare name; null unless it names one.",
      resolve: ofKind("ROLE"),
    }),
    text: t.exposeString("text", {
      nullable: true,
      description: "The name; null where it is sealed and this process has no key for it.",
    }),
    isSealed: t.exposeBoolean("isSealed", { description: "Whether it is stored sealed." }),
    by: t.exposeString("by", {
      description: "Who gave it: id of the operator's key, or account that ran the command.",
    }),
    at: t.exposeString("at", { description: "When, ISO 8601." }),
    cursor: t.exposeString("id", {
      description: "Pass it as after for the labels after this one.",
    }),
  }),
});

builder.queryField("labels", (t) =>
  t.field({
    type: [Label],
    cursorOf: ({ id }) => id,
    nullable: true,
    description:
      "Current labels, by id. Empty for keys that do not see labels (`keys create --labels`): `_meta { seesLabels }`.",
    args: {
      coinType: t.arg.string({
        description: "Only labels of this coin, and those of wallets; default: all.",
      }),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Cursor of the last label seen: only those after it." }),
    },
    complexity: listCost,
    reads: { pipelines: () => [] },
    resolve: async (_root, args, { labels, labelKeys, watermarkReads, coinType }) => {
      const limit = limitOf(args.limit);
      const after = numberOf("after", args.after);
      const of = args.coinType == null ? undefined : await coinType(args.coinType);
      if (!labels.sees) return [];
      return listLabels(watermarkReads, labelKeys, { coinType: of, after, limit });
    },
  }),
);
