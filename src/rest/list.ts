/** `GET /r/api/v2/transfer_events`: what its query string asks for, and the link to the next page. */
import type { z } from "zod";
import type { Asked } from "../http/edge/caller.ts";
import { readParameters } from "../http/parameters.ts";
import type { PageQuery } from "../transfers/list-page.ts";
import { LIST_PATH } from "./names.ts";
import { transferEventsQuery } from "./schema.ts";

export type ListQuery = z.infer<typeof transferEventsQuery>;

/** @throws HttpError (400) naming the parameter, and what it must be */
export const readQuery = (query: unknown): ListQuery => readParameters(transferEventsQuery, query);

/** What the records of a project are asked for. */
export const pageQuery = (
  project: string,
  { tx_hash, recipient_address, order, limit, after_id }: ListQuery,
): PageQuery => ({
  project,
  order,
  limit,
  afterId: after_id,
  txHash: tx_hash === undefined ? undefined : `0x${tx_hash.slice(2)}`,
  recipient: recipient_address === undefined ? undefined : `0x${recipient_address.slice(2)}`,
});

/**
 * `Link` to the next page: the same query, beyond the last record. `host` is what the caller says it
 * asked, if it says so; where that is no host, the link is relative to what it did ask.
 */
export const nextLink = (
  { protocol, host }: Asked,
  { tx_hash, recipient_address, order, limit }: ListQuery,
  next: string,
): string => {
  const query = new URLSearchParams({
    ...(tx_hash !== undefined && { tx_hash }),
    ...(recipient_address !== undefined && { recipient_address }),
    order,
    limit: `${limit}`,
    after_id: next,
  });
  const origin = URL.parse(`${protocol}://${host}`)?.origin ?? "null";
  return `<${origin === "null" ? "" : `${origin}${LIST_PATH}`}?${query}>; rel="next"`;
};
