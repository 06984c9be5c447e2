/** Opaque cursors of lists by time. */
import { z } from "zod";
import type { TimedCursor } from "../database/iso-time.ts";

/** Postgres has no year 0. */
const FORM = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)_(\d{1,18})$/;

export const cursorOf = ({ at, sequence }: TimedCursor): string =>
  Buffer.from(`${at}_${sequence}`).toString("base64url");

/** `after` of a list by time. */
export const timedCursor = z
  .string()
  .max(100, "must be the `next` of a page")
  .transform((text, context): TimedCursor => {
    const [, at, sequence] = FORM.exec(Buffer.from(text, "base64url").toString("latin1")) ?? [];
    if (at === undefined || sequence === undefined || !exists(at)) {
      context.addIssue("must be the `next` of a page");
      return z.NEVER;
    }
    return { at, sequence: BigInt(sequence) };
  })
  .optional()
  .meta({ description: "`next` of the page before." });

/** Postgres refuses dates that do not exist; JavaScript reads June 31 as July 1. */
const exists = (at: string): boolean =>
  !Number.isNaN(Date.parse(at)) && new Date(at).toISOString().startsWith(at.slice(0, 19));

/** Name of a receiver, an asset or an investor to find. Postgres text cannot contain NUL. */
export const nameParameter = z
  .string()
  .max(600, "is too long")
  .refine((text) => text.isWellFormed() && !text.includes("\0"), "is no name");
