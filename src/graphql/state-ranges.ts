/** States and the checkpoints at which they held, for comparing registers: `stateRanges`. */
import {
  isPlace,
  NEEDED_BY,
  type StateRange as Row,
  STATE_KINDS,
  type StateKind,
  stateRanges,
} from "../projections/range-lists.ts";
import { builder } from "./builder.ts";
import { badInput } from "./errors.ts";
import { coinTypeArgument, limitArgument, limitOf, listCost, show } from "./input.ts";
import { asOfIn, readAsOf } from "./past.ts";

const StateKindEnum = builder.enumType("StateKind", {
  description: "A kind of states that begin and end.",
  values: STATE_KINDS,
});

/** Cursor of a row. */
const placeText = ({ place }: Row): string => place.join("|");

const StateRange = builder.objectRef<Row>("StateRange").implement({
  description: "A state and the checkpoints at whose end it held.",
  fields: (t) => ({
    line: t.exposeString("line", {
      description:
        "The state as in the digests of pipelines: the RFC 8785 JSON of its row (docs/reference/formats.md).",
    }),
    checkpoint: t.exposeString("checkpoint", {
      description: "The first checkpoint at whose end it held, decimal.",
    }),
    until: t.exposeString("until", {
      nullable: true,
      description:
        "The first checkpoint at whose end it no longer held, decimal; null if it held at atCheckpoint.",
    }),
    cursor: t.string({
      description: "Pass it as after for the rows after this one.",
      resolve: placeText,
    }),
  }),
});

const placeIn = (kind: StateKind, after: string | null | undefined) => {
  if (after == null) return undefined;
  const place = after.split("|");
  if (!isPlace(kind, place)) {
    throw badInput(`after must be the cursor of a row of this kind; it is ${show(after)}`, {
      argument: "after",
      reason: "MALFORMED",
    });
  }
  return place;
};

builder.queryField("stateRanges", (t) =>
  t.field({
    type: [StateRange],
    cursorOf: placeText,
    nullable: true,
    description:
      "Every state of a coin that had begun by a checkpoint, by key: past answers of tokenObjects, tokenTimelocks, " +
      "walletRoles, capTable and token are made from these. For comparing registers row by row.",
    args: {
      kind: t.arg({ type: StateKindEnum, required: true }),
      coinType: t.arg.string(coinTypeArgument),
      atCheckpoint: t.arg.string({
        required: true,
        description: "As known at the end of this checkpoint, decimal.",
      }),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({ description: "Cursor of the last row seen: only rows after it." }),
    },
    complexity: listCost,
    reads: { pipelines: ({ kind }) => NEEDED_BY[kind] },
    resolve: async (_root, args, context) => {
      const { kind } = args;
      const page = { kind, limit: limitOf(args.limit), after: placeIn(kind, args.after) };
      const asOf = asOfIn({ atCheckpoint: args.atCheckpoint });
      const coinType = await context.coinType(args.coinType);
      return readAsOf(context.reads.ofCoin(coinType), asOf, (at = 0n, on) =>
        stateRanges(on, { ...page, coinType, at }),
      );
    },
  }),
);
