/**
 * What a search could mean. Every reading is one look-up by an index: a whole value, or a prefix
 * long enough to lead to few rows.
 */
import type { PrefixOf } from "../projections/search.ts";
import { canonicalAddress } from "../values/move-type.ts";
import { badInput } from "./errors.ts";

export type Sought = {
  readonly wallets: readonly PrefixOf[];
  readonly transactions?: PrefixOf;
  readonly event?: { readonly txDigest: string; readonly eventSeq: number };
  readonly holderId?: bigint;
  readonly checkpoint?: bigint;
  /** Unix seconds: the last one of the minute or day. */
  readonly endSecond?: bigint;
  readonly coinType?: string;
  /** Beginning of a token's symbol or name. */
  readonly token?: string;
  /** Whole text of a label, or the beginnings of its words. */
  readonly label?: string;
};

const MOST_CHARACTERS = 200;

/** Shortest prefixes: four hex digits, as the page shortens wallets, lead to one wallet of 65,536. */
const LEAST_HEX = 4;
const LEAST_BASE58 = 6;

/** Digits of a checkpoint below 2^63, and the largest number of a holder. */
const MOST_DIGITS = 18;
const MAX_U64 = 2n ** 64n - 1n;

/** `0x4347…c55f`, as the page shortens it, also typed with dots. */
const SHORTENED = /^(\S+?)(?:…|\.{2,3})(\S*)$/u;

const HEX = /^0x([0-9a-f]{1,64})$/i;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{1,44}$/;

/** @throws BAD_USER_INPUT for an empty or a long text */
export const readSearch = (given: string): Sought => {
  const text = given.trim().replaceAll(/\s+/gu, " ");
  if (text === "") throw badInput("text must not be empty");
  if (text.length > MOST_CHARACTERS) {
    throw badInput(`text must have at most ${MOST_CHARACTERS} characters`);
  }
  // Postgres text cannot contain NUL.
  if (!text.isWellFormed() || text.includes("\0")) throw badInput("text must be well-formed");
  const [, head = text, tail = ""] = SHORTENED.exec(text) ?? [];
  const isWhole = head === text;
  return {
    wallets: walletsIn(head, tail, isWhole),
    ...transactionsIn(head, tail),
    ...(isWhole && { ...numbersIn(text), ...namesIn(text) }),
  };
};

const walletsIn = (head: string, tail: string, isWhole: boolean): readonly PrefixOf[] => {
  const [, digits = ""] = HEX.exec(head) ?? [];
  if (digits === "" || !/^[0-9a-f]*$/i.test(tail)) return [];
  const beginning = { from: `0x${digits.toLowerCase()}`, tail: tail.toLowerCase() };
  return [
    ...(isWhole ? [{ from: canonicalAddress(head), tail: "" }] : []),
    ...(digits.length >= LEAST_HEX && digits.length < 64 ? [beginning] : []),
  ];
};

const transactionsIn = (head: string, tail: string): Pick<Sought, "transactions" | "event"> => {
  const [, txDigest = "", eventSeq = ""] = /^(\w{32,44})-(\d{1,9})$/.exec(head) ?? [];
  if (BASE58.test(txDigest)) return { event: { txDigest, eventSeq: Number(eventSeq) } };
  if (!BASE58.test(head) || head.length < LEAST_BASE58 || !/^\w*$/.test(tail)) return {};
  return { transactions: { from: head, tail } };
};

/** `Holder 16`, `#16`, `Checkpoint 16`, `16`: a number alone may be both. */
const NUMBER = /^(?:(holder|checkpoint) ?)?#?(\d{1,20})$/i;

const numbersIn = (text: string): Pick<Sought, "holderId" | "checkpoint" | "endSecond"> => {
  const [, word = "", digits = ""] = NUMBER.exec(text) ?? [];
  const endSecond = endOf(text);
  const is = word.toLowerCase();
  const isHolder = digits !== "" && is !== "checkpoint" && BigInt(digits) <= MAX_U64;
  const isCheckpoint = digits !== "" && is !== "holder" && digits.length <= MOST_DIGITS;
  return {
    ...(endSecond !== undefined && { endSecond }),
    ...(isHolder && { holderId: BigInt(digits) }),
    ...(isCheckpoint && { checkpoint: BigInt(digits) }),
  };
};

const namesIn = (text: string): Pick<Sought, "coinType" | "token" | "label"> => {
  if (/^0x[0-9a-f]{1,64}::/i.test(text)) return { coinType: text };
  if (HEX.test(text)) return {};
  return { token: text, label: text };
};

const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.\d{1,6})?)?(?:Z| ?UTC)?)?$/i;

/** The last second of a day, minute or second, UTC. */
const endOf = (text: string): bigint | undefined => {
  const [, day, minute = "23:59", second = "59"] = DATE.exec(text) ?? [];
  if (day === undefined) return undefined;
  const ms = Date.parse(`${day}T${minute}:${second}Z`);
  // JavaScript reads June 31 as July 1.
  const exists = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
  return exists && ms >= 0 ? BigInt(ms / 1_000) : undefined;
};
