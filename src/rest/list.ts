/** `GET /r/api/v2/transfer_events`: the query string to a page of the caller's project. */
import type { z } from "zod";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import { transferEvents } from "../projections/transfer-events.ts";
import { LIST_PATH } from "./names.ts";
import type { TokenBook } from "./projects.ts";
import { recordJson } from "./record.ts";
import { transferEventsQuery } from "./schema.ts";

export type ListQuery = z.infer<typeof transferEventsQuery>;

/** @throws HttpError (400) naming the parameter, and what it must be */
export const readQuery = (query: unknown): ListQuery => {
  const { success, data, error } = transferEventsQuery.safeParse(query);
  if (success) return data;
  throw new HttpError(400, error.issues.map(faultOf).join("; "));
};

const faultOf = (issue: z.core.$ZodIssue): string => {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(transferEventsQuery.shape).join(", ");
    return `${issue.keys.join(", ")}: no such parameter; there are ${known}`;
  }
  const name = issue.path.map(String).join(".");
  // Only a repeated parameter is not text.
  return `${name}: ${issue.code === "invalid_type" ? "must be given once" : issue.message}`;
};

/** A page: the text of the JSON array, and where the next one begins (null when this was the last). */
export type ListPage = { readonly body: string; readonly next: string | null };

/** Reads and prints a page; one statement once the project's tokens are known. */
export const listPage = async (
  db: Db,
  project: string,
  tokens: TokenBook,
  { tx_hash, recipient_address, order, limit, after_id }: ListQuery,
): Promise<ListPage> => {
  const rows = await transferEvents(db, {
    project,
    order,
    // One more tells whether there is more.
    limit: limit + 1,
    afterId: after_id,
    txHash: tx_hash === undefined ? undefined : `0x${tx_hash.slice(2)}`,
    recipient: recipient_address === undefined ? undefined : `0x${recipient_address.slice(2)}`,
  });
  const page = rows.slice(0, limit);
  if (page.some((row) => tokens.of(row) === null)) await tokens.load(db, distinctTokens(page));
  let body = "";
  for (const row of page) {
    const token = tokens.of(row);
    // Indexed with another assets file than this process has: not the project's any more.
    if (token === null) continue;
    body += body === "" ? recordJson(row, token) : `,${recordJson(row, token)}`;
  }
  return { body: `[${body}]`, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
};

const distinctTokens = <T extends { readonly chainId: number; readonly token: string }>(
  rows: readonly T[],
): readonly T[] => [...new Map(rows.map((row) => [`${row.chainId} ${row.token}`, row])).values()];

/** `Link` to the next page: the same query, beyond the last record. */
export const nextLink = (
  origin: string,
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
  return `<${origin}${LIST_PATH}?${query}>; rel="next"`;
};
