/** Places in lists as callers hold them: opaque texts. */
import { z } from "zod";

/** A place by time and number. */
export type TimedPlace = {
  /** ISO 8601 in UTC, with microseconds. */
  readonly at: string;
  readonly sequence: bigint;
};

/** Postgres has no year 0. */
const FORM = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_(\d{1,18})$/;

/** The place as `timedPlace` reads it. */
export const cursorOf = ({ at, sequence }: TimedPlace): string =>
  Buffer.from(`${at}_${sequence}`).toString("base64url");

/** `after` of a list by time. */
export const timedPlace = z
  .string()
  .max(100, "must be the `next` of a page")
  .transform((text, context): TimedPlace => {
    const [, at, sequence] = FORM.exec(Buffer.from(text, "base64url").toString("latin1")) ?? [];
    if (at === undefined || sequence === undefined || !exists(at)) {
      context.addIssue({ code: "custom", message: "must be the `next` of a page" });
      return z.NEVER;
    }
    return { at, sequence: BigInt(sequence) };
  })
  .optional()
  .meta({ description: "`next` of the page before." });

/** Postgres refuses days that do not exist, where JavaScript takes June 31 for July 1. */
const exists = (at: string): boolean =>
  !Number.isNaN(Date.parse(at)) && new Date(at).toISOString().startsWith(at.slice(0, 19));

/** `limit` of these lists. */
export const pageLimit = z
  .string()
  .regex(/^\d{1,3}$/, "must be a whole number from 1 to 200")
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= 200, "must be a whole number from 1 to 200")
  .default(50)
  .meta({ description: "Items of one page, 1 to 200." });

/** A name to look for: of a receiver, of an asset. Postgres has no NUL in text. */
export const nameAsked = z
  .string()
  .max(600, "is too long")
  .refine((text) => text.isWellFormed() && !text.includes("\0"), "is no name");

/** Times that both Postgres and ISO 8601 with four-digit years can express. */
const LATEST_MS = Date.UTC(9999, 0);

/** A time with its offset. */
export const time = z.iso
  .datetime({
    offset: true,
    error: "must be an ISO 8601 date-time with offset; in a query write its + as %2B",
  })
  .transform((text) => new Date(Math.min(Math.max(Date.parse(text), 0), LATEST_MS)));

/** A page of at most `limit` rows, of which one more was read. */
export const pageOf = <Row extends { readonly place: TimedPlace }, Item>(
  rows: readonly Row[],
  limit: number,
  itemOf: (row: Row) => Item,
): { readonly items: Item[]; readonly next: string | null } => {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(itemOf),
    next: rows.length > limit && last !== undefined ? cursorOf(last.place) : null,
  };
};
