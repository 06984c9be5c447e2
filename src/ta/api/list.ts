/** `GET /api/v1/requests`: the caller's own requests. */
import { z } from "zod";
import { codedError } from "../../http/http-error.ts";
import { limitParameter, timeParameter } from "../../http/parameters.ts";
import { json, type Route, route } from "../../http/route.ts";
import { cursorOf, nameParameter, timedCursor } from "../../http/timed-cursor.ts";
import { canonicalWallet, WALLET_FORM } from "../requests/asset.ts";
import { ownKeys } from "../requests/caller-keys.ts";
import { MOST_LOOKED_AT, ownRequests } from "../requests/list.ts";
import { requestsAnswer } from "./answer-schema.ts";
import * as examples from "./examples.ts";
import type { TaRouteSettings } from "./services.ts";

const STATUSES = ["QUEUED", "PENDING", "SUCCESS", "FAILED", "OPEN"] as const;
const KINDS = ["whitelist", "kyc"] as const;

const listQuery = z.strictObject({
  status: z
    .enum(STATUSES, `must be one of ${STATUSES.join(", ")}`)
    .optional()
    .meta({ description: "Only those; OPEN means QUEUED and PENDING." }),
  kind: z
    .enum(KINDS, `must be one of ${KINDS.join(", ")}`)
    .optional()
    .meta({ description: "Only those." }),
  wallet: z.string().optional().meta({ description: "Only those for this wallet." }),
  investorId: nameParameter.optional().meta({ description: "Only those of this investor." }),
  from: timeParameter
    .optional()
    .meta({ description: "Only those accepted at this time or later, ISO 8601." }),
  to: timeParameter
    .optional()
    .meta({ description: "Only those accepted at this time or earlier, ISO 8601." }),
  after: timedCursor,
  limit: limitParameter(),
});

export const listRoutes = ({ read, callers, catchUp }: TaRouteSettings): readonly Route[] => [
  route({
    method: "GET",
    path: "/api/v1/requests",
    who: callers.signed,
    operationId: "listRequests",
    summary: "The caller's own requests, newest first",
    description: `Also those of keys that this one took over from. A page looks at ${MOST_LOOKED_AT} requests at most: with filters it may have fewer than \`limit\`, or none, and still a \`next\`.`,
    query: listQuery,
    answer: json("TaRequests", requestsAnswer.meta({ examples: [examples.requests] }), "A page."),
    handle: async ({ caller, query, visit }) => {
      const { wallet: text, after, limit, ...filter } = query;
      const { asset } = caller;
      const wallet = text === undefined ? undefined : canonicalWallet(asset.ledger, text);
      if (text !== undefined && wallet === undefined) {
        throw codedError("INVALID_PARAMETER", `wallet: ${WALLET_FORM[asset.ledger]}`, {
          param: "wallet",
        });
      }
      const wallets = wallet === undefined ? undefined : [wallet];
      const keyIds = await ownKeys(read.db, caller);
      const { rows, lookedThrough } = await ownRequests(
        read.db,
        { ...filter, asset: asset.name, wallets, keyIds },
        { after, limit: limit + 1 },
      );
      await catchUp?.();
      const shown = rows.slice(0, limit);
      const last = rows.length > limit ? shown.at(-1) : lookedThrough;
      return {
        items: shown.map(({ at: _a, sequence: _s, ...request }) => request),
        next: last == null ? null : cursorOf(last),
        httpRequestId: visit.requestId,
      };
    },
  }),
];
