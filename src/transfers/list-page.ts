/**
 * A page of a project's records, from the question to the JSON array that is sent. The bytes of the
 * columns are copied between pieces of JSON; nothing in between becomes a string.
 */
import { asInt8 } from "../database/column-types.ts";
import type { Db } from "../database/connect.ts";
import type { Parameter, RawReads } from "../database/readers.ts";
import { bytesOf } from "../values/hex-bytes.ts";
import { printRecord, tokenKey } from "./record-json.ts";
import { AT, TRANSFER_EVENT, type TransferEvent, textAt } from "./records.ts";
import type { TokenBook } from "./token-json.ts";

/** Which page of a project's records is asked for. */
export type PageQuery = {
  readonly project: string;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Id of the last record seen: the page begins beyond it, in the order asked for. */
  readonly afterId?: bigint | undefined;
  /** `0x` and hex digits in lower case, as the recipient. */
  readonly txHash?: `0x${string}` | undefined;
  readonly recipient?: `0x${string}` | undefined;
};

/** Ids are positive, and far from this one. */
const BEYOND_ALL_IDS = 2n ** 63n - 1n;

/**
 * The statements of one order, each by one index whatever Postgres believes of the table. Parameters:
 * project, last id seen, limit, and then what is looked for.
 */
const pages = (beyond: ">" | "<", direction: "asc" | "desc") => {
  const byId = `transfer_events.id ${direction}`;
  const page = (condition: string, order = byId) => `
    select ${TRANSFER_EVENT} from transfer_events
    where project = $1 ${condition}
    order by ${order}
    -- Out of the planner's sight: when it takes a page for everything there is, it gathers and sorts.
    limit (select $3::int8)`;
  const ofTransaction = `and tx_hash = $4 and id ${beyond} $2`;
  return {
    ofAll: page(`and id ${beyond} $2`),
    ofTransaction: page(ofTransaction),
    // A transaction holds few records, a recipient may hold most: "||" keeps its index out of this.
    ofBoth: page(`${ofTransaction} and recipient || '' = $5`),
    // Two bounds instead of an equality: the index of recipients alone gives this order.
    ofRecipient: page(
      `and (recipient, id) ${beyond} ($4, $2) and recipient ${beyond === "<" ? ">=" : "<="} $4`,
      `transfer_events.recipient ${direction}, ${byId}`,
    ),
  };
};

const PAGES = { asc: pages(">", "asc"), desc: pages("<", "desc") };

/**
 * The statement for a page; it finds nothing for an unknown project. It reads one index, whatever is
 * asked and whatever Postgres believes of the table: with a recipient of most records it would rather
 * walk the list and leave rows out, all of them when that wallet receives nothing any more.
 */
export const pageStatement = ({ project, order, limit, afterId, txHash, recipient }: PageQuery) => {
  const after = asInt8(afterId ?? (order === "desc" ? BEYOND_ALL_IDS : 0n));
  const texts = PAGES[order];
  const page: Parameter[] = [project, after, limit];
  if (txHash !== undefined) {
    return recipient === undefined
      ? { text: texts.ofTransaction, parameters: [...page, bytesOf(txHash)] }
      : { text: texts.ofBoth, parameters: [...page, bytesOf(txHash), bytesOf(recipient)] };
  }
  return recipient === undefined
    ? { text: texts.ofAll, parameters: page }
    : { text: texts.ofRecipient, parameters: [...page, bytesOf(recipient)] };
};

/** A page: the JSON array as bytes, and the id beyond which the next one begins (null: the last page). */
export type ListPage = { readonly body: Buffer; readonly next: string | null };

/** Reads and prints a page; one statement once the project's tokens are known. */
export const listPage = async (
  on: RawReads,
  db: Db,
  tokens: TokenBook,
  query: PageQuery,
): Promise<ListPage> => {
  const { limit } = query;
  // One more tells whether there is more.
  const { text, parameters } = pageStatement({ ...query, limit: limit + 1 });
  const events = await on.raw(text, parameters);
  const page = events.slice(0, limit);
  let printed = printPage(page, tokens);
  if (!printed.complete) {
    await tokens.load(db, page.map(tokenKey));
    printed = printPage(page, tokens);
  }
  const last = events.length > limit ? page.at(-1) : undefined;
  return {
    body: Buffer.concat(printed.pieces),
    next: last === undefined ? null : `${textAt(last, AT.id)}`,
  };
};

const [BEGIN, END] = [Buffer.from("["), Buffer.from("]")];

/** Without the records of tokens that the book has not: it is complete when there are none. */
const printPage = (page: readonly TransferEvent[], tokens: TokenBook) => {
  const pieces: Buffer[] = [BEGIN];
  let complete = true;
  for (const event of page) {
    const token = tokens.of(tokenKey(event));
    // After it was asked for: indexed with another assets file than this process has.
    if (token === null) complete = false;
    else printRecord(event, token, pieces.length > 1, pieces);
  }
  pieces.push(END);
  return { pieces, complete };
};
