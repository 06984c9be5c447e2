/** `GET /r/api/v2/transfer_events`: the query string to a page of the caller's project. */
import type { z } from "zod";
import type { Db } from "../database/connect.ts";
import type { RawReads } from "../database/readers.ts";
import type { Asked } from "../http/edge/caller.ts";
import { HttpError } from "../http/http-error.ts";
import type { TokenBook } from "../transfers/projects.ts";
import { placeOf, printRecord } from "../transfers/record.ts";
import { type TransferEventTexts, transferEventTexts } from "../transfers/records.ts";
import { LIST_PATH } from "./names.ts";
import { transferEventsQuery } from "./schema.ts";

export type ListQuery = z.infer<typeof transferEventsQuery>;

/** @throws HttpError (400) naming the parameter, and what it must be */
export const readQuery = (query: unknown): ListQuery => {
  const { success, data, error } = transferEventsQuery.safeParse(query);
  if (success) return data;
  throw new HttpError(400, error.issues.map((issue) => faultOf(issue, query)).join("; "));
};

const faultOf = (issue: z.core.$ZodIssue, query: unknown): string => {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(transferEventsQuery.shape).join(", ");
    return `${inShort(issue.keys)}: no such parameter; there are ${known}`;
  }
  const name = issue.path.map(String).join(".");
  return `${name}: ${isRepeated(query, name) ? "must be given once" : issue.message}`;
};

const isRepeated = (query: unknown, name: string): boolean =>
  typeof query === "object" &&
  query !== null &&
  Array.isArray(Object.getOwnPropertyDescriptor(query, name)?.value);

/** Names that a caller made up: enough of them to find the mistake by. */
const inShort = (names: readonly string[]): string => {
  const some = names.slice(0, 5).map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
  return [...some, ...(names.length > some.length ? ["…"] : [])].join(", ");
};

/** A page: the JSON array as bytes, and where the next one begins (null when this was the last). */
export type ListPage = { readonly body: Buffer; readonly next: string | null };

/** Reads and prints a page; one statement once the project's tokens are known. */
export const listPage = async (
  on: RawReads,
  db: Db,
  project: string,
  tokens: TokenBook,
  { tx_hash, recipient_address, order, limit, after_id }: ListQuery,
): Promise<ListPage> => {
  const rows = await transferEventTexts(on, {
    project,
    order,
    // One more tells whether there is more.
    limit: limit + 1,
    afterId: after_id,
    txHash: tx_hash === undefined ? undefined : `0x${tx_hash.slice(2)}`,
    recipient: recipient_address === undefined ? undefined : `0x${recipient_address.slice(2)}`,
  });
  const page = rows.slice(0, limit);
  let printed = printPage(page, tokens);
  if (!printed.complete) {
    await tokens.load(db, page.map(placeOf));
    printed = printPage(page, tokens);
  }
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { body: Buffer.concat(printed.pieces), next: last === undefined ? null : `${last.id}` };
};

const [BEGIN, END] = [Buffer.from("["), Buffer.from("]")];

/** Without the records of tokens that the book has not: it is complete when there are none. */
const printPage = (page: readonly TransferEventTexts[], tokens: TokenBook) => {
  const pieces: Buffer[] = [BEGIN];
  let complete = true;
  for (const event of page) {
    const token = tokens.of(placeOf(event));
    // After it was asked for: indexed with another assets file than this process has.
    if (token === null) complete = false;
    else printRecord(event, token, pieces.length > 1, pieces);
  }
  pieces.push(END);
  return { pieces, complete };
};

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
