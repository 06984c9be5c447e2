/** Live vesting grants: `tokenTimelocks`. */
import { FOR_GRANTS } from "../projections/needed.ts";
import { type TokenTimelock as Row, tokenTimelocks } from "../projections/timelock-objects.ts";
import { builder } from "./builder.ts";
import { exposedDecimals, pastArguments } from "./fields.ts";
import {
  coinTypeArgument,
  grantCursorOf,
  limitArgument,
  limitOf,
  listCost,
  ownerArgument,
  ownerOf,
} from "./input.ts";
import { asOfIn, isByTime, readAsOf } from "./past.ts";

/** Cursor of a row. */
export const grantCursor = ({
  commencementTimestampMs,
  objectId,
}: Pick<Row, "commencementTimestampMs" | "objectId">): string =>
  `${commencementTimestampMs}:${objectId}`;

export const TokenTimelock = builder
  .objectRef<Row & { readonly decimals: number | null }>("TokenTimelock")
  .implement({
    description:
      "A live vesting grant. Times are in milliseconds, unlike checkpointTimestamp. A grant that " +
      "destroy_empty deleted is not listed.",
    fields: (t) => ({
      objectId: t.exposeString("objectId", { description: "Id of the Timelock object." }),
      owner: t.exposeString("owner", { description: "Wallet the grant is for." }),
      funder: t.exposeString("funder", { description: "Wallet that funded it." }),
      releaseScheduleId: t.exposeString("releaseScheduleId", {
        description: "Number of the release schedule, decimal.",
      }),
      releaseCount: t.exposeString("releaseCount", {
        description: "Number of releases, decimal.",
      }),
      delayUntilFirstReleaseMs: t.exposeString("delayUntilFirstReleaseMs", {
        description: "From the commencement to the first release, milliseconds, decimal.",
      }),
      periodBetweenReleasesMs: t.exposeString("periodBetweenReleasesMs", {
        description: "From one release to the next, milliseconds, decimal.",
      }),
      initialReleasePortionBps: t.exposeString("initialReleasePortionBps", {
        description:
          "Part of the total in the first release, basis points (10000 is all of it), decimal.",
      }),
      commencementTimestampMs: t.exposeString("commencementTimestampMs", {
        description: "When the schedule begins, milliseconds since the Unix epoch, decimal.",
      }),
      totalAmount: t.exposeString("totalAmount", {
        description: "Tokens granted, in the smallest unit, decimal.",
      }),
      tokensTransferred: t.exposeString("tokensTransferred", {
        description: "Tokens claimed so far, decimal.",
      }),
      leftBalance: t.exposeString("leftBalance", {
        description:
          "Tokens left in it, decimal: locked, or unlocked and not claimed. " +
          "The sum over all grants of an owner is timelockBalance.",
      }),
      decimals: t.exposeInt("decimals", exposedDecimals),
    }),
  });

builder.queryField("tokenTimelocks", (t) =>
  t.field({
    type: [TokenTimelock],
    cursorOf: grantCursor,
    nullable: true,
    description:
      "Live grants of a coin type, or of one owner, earliest commencement first, equal ones by object id. " +
      "Fails with the code GRANT_INDEX_BEHIND while the grant index is more than 1000 checkpoints behind " +
      "the SharedToken index, because the list could contain deleted grants.",
    args: {
      coinType: t.arg.string(coinTypeArgument),
      owner: t.arg.string({ ...ownerArgument, required: false }),
      limit: t.arg.int(limitArgument),
      after: t.arg.string({
        description:
          "`<commencementTimestampMs>:<objectId>` of the last row seen: only the grants after it.",
      }),
      ...pastArguments,
    },
    complexity: listCost,
    reads: { pipelines: () => FOR_GRANTS, several: isByTime },
    resolve: async (_root, args, context) => {
      const page = {
        owner: args.owner == null ? undefined : ownerOf(args.owner),
        limit: limitOf(args.limit),
        after: grantCursorOf(args.after),
      };
      const asOf = asOfIn(args);
      const coinType = await context.coinType(args.coinType);
      const grants = await readAsOf(context.reads.ofCoin(coinType, args), asOf, (at, on) =>
        tokenTimelocks(on, { ...page, coinType, at }),
      );
      const decimals = context.decimals(coinType);
      return grants.map((grant) => ({ ...grant, decimals }));
    },
  }),
);
