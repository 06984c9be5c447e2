/** `/operator/search`: requests and deliveries by what a person may paste, each by an index. */
import { z } from "zod";
import { deliveryIdsFrom, deliveryOverviews } from "../callbacks/overview.ts";
import type { Db } from "../database/connect.ts";
import type { Key } from "../http/keys.ts";
import { limitMember, limitParameter } from "../http/parameters.ts";
import { json, jsonBody, type Route, route, type Who } from "../http/route.ts";
import { resultMessageId } from "../ta/requests/callback-address.ts";
import { walletForms } from "../ta/requests/find-requests.ts";
import { requestOverviews } from "../ta/requests/overview.ts";
import { callbackIdsOfRecord } from "../transfers/callbacks.ts";
import { operatorSearchAnswer } from "./answers.ts";
import { nameParameter } from "./cursor.ts";
import { deliveryIdOf, deliveryItemOf } from "./deliveries.ts";
import { requestItemOf } from "./requests.ts";

const LIMIT = { most: 50, usual: 10 };
const ABOUT_LIMIT = { description: `Most requests and most deliveries, 1 to ${LIMIT.most}.` };

const text = nameParameter
  .transform((given) => given.trim())
  .refine((given) => given !== "", "must not be empty")
  .meta({
    description:
      "A request's id, a wallet, an investor's id (`investor.id` of the caller), a delivery's id (`webhook-id`), or the id of a transfer event: whole. Of a delivery's id the beginning will do, from four digits on: `te_4f1c`.",
  });

const searchQuery = z.strictObject({
  text,
  limit: limitParameter(LIMIT).meta(ABOUT_LIMIT),
});

const searchBody = z.strictObject({
  text,
  limit: limitMember(LIMIT).meta(ABOUT_LIMIT),
});

const FOUND = json("OperatorSearch", operatorSearchAnswer, "What was found, newest first.");

const ABOUT =
  "Neither investors nor their wallets are named. For the register there is `search` in GraphQL.";

/** Looks a text up as each of the things that it may be. */
const search = async (db: Db, { text, limit }: z.output<typeof searchBody>) => {
  const id = z.uuid().safeParse(text).data?.toLowerCase();
  const wallets = walletForms(text);
  const message = deliveryIdOf(id === undefined ? text : resultMessageId(id));
  const [byId, byWallet, byInvestor, begun, ofRecord] = await Promise.all([
    id === undefined ? [] : requestOverviews(db, { id, limit: 1 }),
    wallets.length === 0 ? [] : requestOverviews(db, { wallets, limit }),
    requestOverviews(db, { investorId: text, limit }),
    deliveryIdsFrom(db, text, limit),
    /^\d{1,18}$/.test(text) ? callbackIdsOfRecord(db, BigInt(text)) : [],
  ]);
  const ids = [...(message === undefined ? [] : [message]), ...begun, ...ofRecord];
  const deliveries = await deliveryOverviews(db, { ids, limit });
  const found = new Map(
    [...byId, ...byWallet, ...byInvestor].map((request) => [request.id, request]),
  );
  return {
    requests: [...found.values()].slice(0, limit).map(requestItemOf),
    deliveries: deliveries.map(deliveryItemOf),
  };
};

export const searchRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/search",
    who,
    operationId: "operatorSearch",
    summary: "Requests and callbacks that a text may mean",
    description: `${ABOUT} Access logs may keep the text: POST sends it in a body.`,
    query: searchQuery,
    answer: FOUND,
    handle: ({ query }) => search(db, query),
  }),
  route({
    method: "POST",
    path: "/operator/search",
    isRead: true,
    who,
    operationId: "operatorSearchByBody",
    summary: "The same search, with the text in a body, which access logs do not keep",
    description: ABOUT,
    body: jsonBody(searchBody),
    answer: FOUND,
    handle: ({ body }) => search(db, body),
  }),
];
