/** `GET /operator/receivers`: callback addresses and their state. */
import { z } from "zod";
import { type EndpointOverview, endpointOverviews } from "../callbacks/overview.ts";
import type { Db } from "../database/connect.ts";
import type { Key } from "../http/keys.ts";
import { json, type Route, route, type Who } from "../http/route.ts";
import { shownUrl } from "../settings/shown-url.ts";
import { taEndpoint } from "../ta/requests/asset.ts";
import { callbackEndpoint } from "../transfers/callbacks.ts";
import { operatorReceiversAnswer, type ReceiverItem } from "./answers.ts";
import { nameParameter, pageLimit } from "./cursor.ts";

const receiversQuery = z.strictObject({
  after: nameParameter.optional().meta({ description: "`next` of the page before." }),
  limit: pageLimit,
});

export const receiverRoutes = (db: Db, who: Who<Key>): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/receivers",
    who,
    operationId: "operatorReceivers",
    summary: "Addresses that callbacks go to",
    query: receiversQuery,
    answer: json("OperatorReceivers", operatorReceiversAnswer, "A page."),
    handle: async ({ query: { after, limit } }) => {
      const rows = await endpointOverviews(db, { after, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      return {
        items: shown.map(itemOf),
        next: rows.length > limit ? (shown.at(-1)?.key ?? null) : null,
      };
    },
  }),
];

type State = Pick<ReceiverItem, "state" | "reason" | "since">;

export const stateOf = (one: EndpointOverview): State => {
  const { withdrawnAt, disabledAt, failures } = one;
  if (withdrawnAt !== null) {
    return { state: "withdrawn", reason: one.withdrawnReason, since: withdrawnAt };
  }
  if (one.pausedAt !== null) {
    return { state: "paused", reason: one.pauseReason, since: one.pausedAt };
  }
  if (disabledAt !== null) {
    return { state: "disabled", reason: one.disabledReason, since: disabledAt };
  }
  if (failures === 0) return { state: "open", reason: null, since: null };
  return { state: "failing", reason: one.lastError, since: one.failingSince };
};

const itemOf = (one: EndpointOverview): ReceiverItem => {
  const { key, url, failures, lastError, pending } = one;
  return {
    id: key,
    ...ownerOf(key),
    url: shownUrl(url),
    ...stateOf(one),
    failures,
    lastError,
    pending,
  };
};

const PROJECT = callbackEndpoint("");
const ASSET = taEndpoint("");

/** The address of an asset's key has a digest after the asset's name. */
const ownerOf = (key: string): Pick<ReceiverItem, "kind" | "name"> =>
  key.startsWith(ASSET)
    ? { kind: "asset", name: key.slice(ASSET.length).split(":", 1)[0] ?? "" }
    : { kind: "project", name: key.slice(key.startsWith(PROJECT) ? PROJECT.length : 0) };
