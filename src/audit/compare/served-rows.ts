/** Rows served by a deployment: bounded, validated, ordered. */
import { z } from "zod";
import { type Answered, NotAnsweredError } from "./other-deployment.ts";

const cell = z.union([z.string().max(20_000), z.number(), z.boolean(), z.null()]);
const inner = z.union([cell, z.record(z.string().max(64), cell)]);
/** A row, bounded. */
export const rowShape = z.record(z.string().max(64), z.union([cell, z.array(inner)]));

/** A served row. */
export type Row = z.infer<typeof rowShape>;

/** Page size. */
export const PAGE = 1_000;

const page = z.array(rowShape).max(PAGE);

/** @throws NotAnsweredError when the answer has no such list */
export const rowsIn = (data: Answered, field: string): readonly Row[] => {
  // Null: an unknown coin.
  const read = page.nullable().safeParse(data[field] ?? null);
  if (read.success) return read.data ?? [];
  throw new NotAnsweredError(`the answer for ${field} is not a page of rows`);
};

/** Sort key of a row. */
export type RowPlace = readonly (bigint | string)[];

export const comparePlaces = (one: RowPlace, other: RowPlace): number => {
  for (const [index, value] of one.entries()) {
    const beside = other[index];
    if (beside === undefined || value < beside) return beside === undefined ? 1 : -1;
    if (value > beside) return 1;
  }
  return 0;
};

/** The member of a row as a number. @throws NotAnsweredError when it is none */
export const numberIn = (of: Row, name: string): bigint => {
  const value = of[name];
  if (typeof value === "string" && /^-?\d{1,40}$/.test(value)) return BigInt(value);
  throw new NotAnsweredError(`${name} is ${JSON.stringify(value)}, which is not a whole number`);
};

/** The member of a row as a text. @throws NotAnsweredError when it is none */
export const textIn = (of: Row, name: string): string => {
  const value = of[name];
  if (typeof value === "string") return value;
  throw new NotAnsweredError(`${name} is ${JSON.stringify(value)}, which is not text`);
};
