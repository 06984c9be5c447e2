/** A page of a project's records, printed by copying the columns' bytes. */
import { asInt8 } from "../database/column-types.ts";
import type { Db } from "../database/connect.ts";
import type { Parameter, RawReads } from "../database/readers.ts";
import { bytesOf } from "../values/hex-bytes.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { printRecord, tokenKey } from "./record-json.ts";
import { AT, TRANSFER_EVENT, type TransferEvent, textAt } from "./records.ts";
import type { TokenBook } from "./token-json.ts";

export type PageQuery = {
  readonly project: string;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Id of the last record seen; the page begins after it, in `order`. */
  readonly afterId?: bigint | undefined;
  /** `0x` and lower-case hex digits, as for `recipient`. */
  readonly txHash?: `0x${string}` | undefined;
  readonly recipient?: `0x${string}` | undefined;
};

/** No id reaches this. */
const BEYOND_ALL_IDS = 2n ** 63n - 1n;

/** Held tokens that a page names, the ones held longest. */
const MOST_HELD = 20;

/** Held tokens of the project, as `heldIn` reads them, in every row of the page and without one too. */
const HELD = `(
  select string_agg(concat_ws(' ', chain_id, '0x' || encode(token, 'hex'), block, after_id), ',')
  from (select * from transfer_event_holds where project = $1 order by after_id limit ${MOST_HELD}) as first)`;

/** A held token whose record of the transaction is missing. */
const WITHHELD = `(
  select h.chain_id || ':0x' || encode(h.token, 'hex') || ' is in quarantine from block ' || h.block || ' on'
  from transfer_event_reserved_ids r
  join transfer_event_holds h using (project, chain_id, token)
  where r.project = $1 and r.tx_hash = $4 and r.block >= h.block limit 1)`;

/**
 * Each statement is bound to one index, whatever the planner estimates: for a frequent recipient
 * Postgres would filter the whole list. Parameters: project, last id seen, limit, then the filters.
 */
const pages = (beyond: ">" | "<", direction: "asc" | "desc") => {
  const byId = `transfer_events.id ${direction}`;
  const page = (condition: string, { order = byId, withheld = "null" } = {}) => `
    select page.*, guard.* from (select ${HELD} as "held", ${withheld} as "withheld") as guard
    left join lateral (
      select ${TRANSFER_EVENT} from transfer_events
      where project = $1 ${condition}
      order by ${order}
      -- Hides the limit from the planner: if the page seems to hold all rows, it gathers and sorts.
      limit (select $3::int8)) as page on true`;
  const ofTransaction = `and tx_hash = $4 and id ${beyond} $2`;
  return {
    ofAll: page(`and id ${beyond} $2`),
    ofTransaction: page(ofTransaction, { withheld: WITHHELD }),
    // A transaction has few records, a recipient may have most: "||" keeps its index out of this.
    ofBoth: page(`${ofTransaction} and recipient || '' = $5`, { withheld: WITHHELD }),
    // Two bounds instead of an equality: only the index of recipients yields this order.
    ofRecipient: page(
      `and (recipient, id) ${beyond} ($4, $2) and recipient ${beyond === "<" ? ">=" : "<="} $4`,
      { order: `transfer_events.recipient ${direction}, ${byId}` },
    ),
  };
};

const PAGES = { asc: pages(">", "asc"), desc: pages("<", "desc") };

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

/** A token in quarantine: its records from `block` on are missing, whose ids are larger than `afterId`. */
export type HeldToken = {
  readonly chainId: string;
  readonly token: string;
  readonly block: string;
  readonly afterId: string;
};

type ListPage = {
  /** A JSON array. */
  readonly body: Buffer;
  /** Id after which the next page begins; null on the last page. */
  readonly next: string | null;
  /** By `afterId`, the first 20. */
  readonly held: readonly HeldToken[];
};

/** The requested transaction moved tokens in quarantine. */
export class TransactionWithheldError extends Error {
  override readonly name = "TransactionWithheldError";
  readonly remedy: Remedy = "wait";
}

/**
 * One statement once the project's tokens are cached.
 * @throws TransactionWithheldError (wait)
 */
export const listPage = async (
  on: RawReads,
  db: Db,
  tokens: TokenBook,
  query: PageQuery,
): Promise<ListPage> => {
  const { limit } = query;
  // One extra row shows whether another page follows.
  const { text, parameters } = pageStatement({ ...query, limit: limit + 1 });
  const rows = await on.raw(text, parameters);
  const [held, withheld] = (rows[0] ?? []).slice(-2).map((cell) => cell?.toString() ?? null);
  if (withheld) throw new TransactionWithheldError(withheld);
  const events = rows.filter((row) => row[AT.id] !== null);
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
    held: held ? heldIn(held) : [],
  };
};

const heldIn = (text: string): readonly HeldToken[] =>
  text
    .split(",")
    .map((each) => {
      const [chainId = "", token = "", block = "", afterId = ""] = each.split(" ");
      return { chainId, token, block, afterId };
    })
    .sort((a, b) => Number(BigInt(a.afterId) - BigInt(b.afterId)));

const [BEGIN, END] = [Buffer.from("["), Buffer.from("]")];

/** Leaves out records of unknown tokens; `complete` when there are none. */
const printPage = (page: readonly TransferEvent[], tokens: TokenBook) => {
  const pieces: Buffer[] = [BEGIN];
  let complete = true;
  for (const event of page) {
    const token = tokens.of(tokenKey(event));
    // After `load`: indexed with another assets file than this process has.
    if (token === null) complete = false;
    else printRecord(event, token, pieces.length > 1, pieces);
  }
  pieces.push(END);
  return { pieces, complete };
};
