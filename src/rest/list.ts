/** `GET /r/api/v2/transfer_events`: what its query string asks for, and the link to the next page. */
import type { z } from "zod";
import type { Origin } from "../http/edge/caller.ts";
import type { PageQuery } from "../transfers/list-page.ts";
import type { transferEventsQuery } from "./schema.ts";

export const LIST_PATH = "/r/api/v2/transfer_events";

type ListQuery = z.output<typeof transferEventsQuery>;

/** The query of a project's records. */
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
 * `Link` to the next page: the same query, beyond the last record. It is relative where the caller names no
 * valid host.
 */
export const nextLink = (
  { protocol, host }: Origin,
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
