/** Arguments of the queries: their descriptions and their parsers, which throw BAD_USER_INPUT. */
import type { CapPlace } from "../../client/cap-rows.ts";
import type { ChangePlace } from "../projections/balance-changes.ts";
import type { Whose } from "../projections/cap-tables.ts";
import { type HistoryPlace, ROW_KINDS } from "../projections/holder-history.ts";
import type { GrantPlace } from "../projections/timelock-objects.ts";
import { canonicalAddress, canonicalType, MoveTypeError } from "../values/move-type.ts";
import { badInput, type WrongArgument } from "./errors.ts";

export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;

/** Skipped rows are read, too; beyond it page with `after`, which costs nothing. */
export const MAX_OFFSET = 1_000_000;

/** Largest position, stored in 63 bits. */
const MAX_POSITION = 2n ** 63n - 1n;

/** Digits of the largest balance of one owner: a sum of u64. */
const MAX_BALANCE_DIGITS = 39;

/** Digits of a holder's number and of a grant's time. */
const MAX_U64_DIGITS = 20;

const NOT_A = (argument: string): WrongArgument => ({ argument, reason: "MALFORMED" });
const OUT_OF = (argument: string): WrongArgument => ({ argument, reason: "OUT_OF_RANGE" });

/** The argument of a name such as "the owner in after". */
const argumentIn = (name: string): string => name.split(" ").at(-1) ?? name;

/** The parser of an argument that may be left out. */
const optional =
  <Value>(parse: (text: string) => Value) =>
  (text: string | null | undefined): Value | undefined =>
    text === null || text === undefined ? undefined : parse(text);

export const coinTypeArgument = {
  required: true,
  description:
    "Coin type of the security token, `<package>::<module>::<TYPE>`: short addresses and any letter case are accepted.",
} as const;

export const ownerArgument = {
  required: true,
  description: "Wallet address; the short form and any letter case are accepted.",
} as const;

export const limitArgument = {
  defaultValue: DEFAULT_LIMIT,
  description: `Most rows to return, 1 to ${MAX_LIMIT}.`,
} as const;

export const sinceArgument = {
  description: "Unix seconds, decimal: events of that second and later.",
} as const;

/**
 * Cost of a list: its fields, times the rows it may hold. A limit out of bounds costs no more than the
 * bound, because the refusal of `limitOf` says more than that of the cost.
 */
export const listCost = ({ limit }: { readonly limit?: number | null | undefined }) => ({
  field: 1,
  multiplier: Math.min(Math.max(limit ?? DEFAULT_LIMIT, 1), MAX_LIMIT),
});

export const limitOf = (limit: number | null | undefined): number => {
  const rows = limit ?? DEFAULT_LIMIT;
  if (rows < 1 || rows > MAX_LIMIT) {
    throw badInput(`limit must be from 1 to ${MAX_LIMIT}; it is ${rows}`, OUT_OF("limit"));
  }
  return rows;
};

export const offsetOf = (offset: number | null | undefined): number => {
  const rows = offset ?? 0;
  if (rows < 0 || rows > MAX_OFFSET) {
    throw badInput(
      `offset must be from 0 to ${MAX_OFFSET}; it is ${rows}. Page with "after", the position of the last row seen, instead`,
      OUT_OF("offset"),
    );
  }
  return rows;
};

/**
 * The parser of `types`, or of another list of names.
 * @throws BAD_USER_INPUT for none, and for a name that is none of `all`
 */
export const typesIn =
  <Type extends string>(all: readonly Type[], argument = "types") =>
  (types: readonly string[] | null | undefined): readonly Type[] | undefined => {
    if (types === null || types === undefined) return undefined;
    if (types.length === 0) {
      throw badInput(`${argument} must be at least one of ${all.join(", ")}`, OUT_OF(argument));
    }
    return [...new Set(types)].map((type) => {
      const found = all.find((one) => one === type);
      if (found !== undefined) return found;
      throw badInput(`${argument} must be one of ${all.join(", ")}; it is ${show(type)}`, {
        argument,
        reason: "UNKNOWN_VALUE",
      });
    });
  };

export const digestOf = (digest: string): string => {
  if (/^[0-9A-Za-z]{1,64}$/.test(digest)) return digest;
  throw badInput(
    `digest must be that of a transaction, base58, such as "8Xq…"; it is ${show(digest)}`,
  );
};

/** Canonical: padded and in lower case. */
export const ownerOf = (owner: string): string => addressIn(owner, "owner");
export const addressOf = (address: string): string => addressIn(address, "address");

export const optionalOwnerOf = optional(ownerOf);

/** A holder's number. */
export const holderIdOf = optional((holderId): bigint => {
  if (!/^\d+$/.test(holderId) || holderId.length > MAX_U64_DIGITS) {
    throw badInput(
      `holderId must be a holder's number, such as "7"; it is ${show(holderId)}`,
      NOT_A("holderId"),
    );
  }
  return BigInt(holderId);
});

export const sinceOf = optional((since): bigint => {
  if (!/^\d{1,15}$/.test(since)) {
    throw badInput(
      `sinceTimestamp must be unix seconds, such as "1700000000"; it is ${show(since)}`,
      NOT_A("sinceTimestamp"),
    );
  }
  return BigInt(since);
});

/** A number of at most 15 digits, of an argument that may be left out. */
export const numberIn = (
  text: string | null | undefined,
  name: string,
  what: string,
): bigint | undefined => {
  if (text === null || text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  throw badInput(`${name} must be ${what}, decimal, such as "1700000000"; it is ${show(text)}`);
};

export const secondsIn = (text: string | null | undefined, name: string): bigint | undefined =>
  numberIn(text, name, "unix seconds");

export const positionOf = optional((after): bigint => {
  const position = /^\d{1,19}$/.test(after) ? BigInt(after) : -1n;
  if (position < 0n || position > MAX_POSITION) {
    throw badInput(
      `after must be the position of a row, such as "184220931000020003"; it is ${show(after)}`,
      NOT_A("after"),
    );
  }
  return position;
});

/** An id or number below 2^63. */
export const numberOf = (name: string, text: string | null | undefined): bigint | undefined => {
  if (text === null || text === undefined) return undefined;
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw badInput(`${name} must be the cursor of a row, such as "16"; it is ${show(text)}`);
};

/** `<balance>:<owner>` of the last holder seen. */
export const holderCursorOf = optional(
  (after): { readonly balance: bigint; readonly owner: string } => {
    const [balance = "", owner = "", ...rest] = after.split(":");
    if (!/^\d+$/.test(balance) || balance.length > MAX_BALANCE_DIGITS || rest.length > 0) {
      throw badInput(
        `after must be "<balance>:<owner>" of the last holder seen, such as "2500000:0x2a"; it is ${show(after)}`,
        NOT_A("after"),
      );
    }
    return { balance: BigInt(balance), owner: addressIn(owner, "the owner in after") };
  },
);

/** Cursor of the last movement seen. */
export const changeCursorOf = optional((after): ChangePlace => {
  const [position = "", owner = "", part, ...rest] = after.split(":");
  const isPart = part === "TOKENS" || part === "GRANTS";
  if (!/^\d{1,19}$/.test(position) || BigInt(position) > MAX_POSITION || !isPart) {
    throw badInput(
      `after must be the cursor of a row, such as "184220931000020000:0x2a:TOKENS"; it is ${show(after)}`,
      NOT_A("after"),
    );
  }
  const place: ChangePlace = {
    position: BigInt(position),
    owner: addressIn(owner, "the owner in after"),
    part,
  };
  if (rest.length === 0) return place;
  return { ...place, coinType: coinTypeIn(rest.join(":"), "the coin type in after") };
});

/** Cursor of the last change of a holder seen: `<position>:<wallet>:<kind>`. */
export const historyCursorOf = optional((after): HistoryPlace => {
  const [position = "", wallet = "", name, ...rest] = after.split(":");
  const kind = ROW_KINDS.find((one) => one === name);
  const isPosition = /^\d{1,19}$/.test(position) && BigInt(position) <= MAX_POSITION;
  if (!isPosition || kind === undefined || rest.length > 0) {
    throw badInput(
      `after must be the cursor of a row, such as "184220931000020000:0x2a:TOKENS"; it is ${show(after)}`,
    );
  }
  return { position: BigInt(position), wallet: addressIn(wallet, "the wallet in after"), kind };
});

/** At most 20 digits. */
export const holderIdIn = (holderId: string): bigint => {
  if (/^\d+$/.test(holderId) && holderId.length <= MAX_U64_DIGITS) return BigInt(holderId);
  throw badInput(`holderId must be a holder's number, such as "7"; it is ${show(holderId)}`);
};

/** Cursor of the last row of a cap table. */
export const capCursorOf = optional((after): CapPlace => {
  const [digits = "", holder = "", ...rest] = after.split(":");
  const isHolder = /^\d+$/.test(holder) && holder.length <= MAX_U64_DIGITS;
  const isRow = isHolder || holder.startsWith("0x");
  if (!/^\d+$/.test(digits) || digits.length > MAX_BALANCE_DIGITS || !isRow || rest.length > 0) {
    throw badInput(
      `after must be the cursor of a row, such as "2500000:7" or "2500000:0x2a"; it is ${show(after)}`,
      NOT_A("after"),
    );
  }
  const balance = BigInt(digits);
  return isHolder
    ? { balance, holderId: BigInt(holder), address: "" }
    : { balance, holderId: null, address: addressIn(holder, "the wallet in after") };
});

/** The holder, or the wallet, whose row of a cap table is wanted. */
export const whoseOf = (holder: string): Whose => {
  if (/^\d+$/.test(holder) && holder.length <= MAX_U64_DIGITS) return { holderId: BigInt(holder) };
  if (holder.startsWith("0x")) return { owner: addressIn(holder, "holder") };
  throw badInput(
    `holder must be a holder's number, such as "7", or a wallet's address, such as "0x2a"; it is ${show(holder)}`,
    NOT_A("holder"),
  );
};

/** Coin type of the last token seen. */
export const coinCursorOf = optional((after): string => coinTypeIn(after, "after"));

/** Canonical. */
export const coinTypeIn = (text: string, name: string): string => {
  try {
    return canonicalType(text);
  } catch (error) {
    if (error instanceof MoveTypeError) {
      throw badInput(`${name} is ${error.message}`, NOT_A(argumentIn(name)));
    }
    throw error;
  }
};

/** Object id of the last row seen. */
export const objectCursorOf = optional((after): string => addressIn(after, "after"));

/** `<commencementTimestampMs>:<objectId>` of the last grant seen. */
export const grantCursorOf = optional((after): GrantPlace => {
  const [time = "", objectId = "", ...rest] = after.split(":");
  if (!/^\d+$/.test(time) || time.length > MAX_U64_DIGITS || rest.length > 0) {
    throw badInput(
      `after must be "<commencementTimestampMs>:<objectId>" of the last grant seen, such as "1700000000000:0x2a"; it is ${show(after)}`,
      NOT_A("after"),
    );
  }
  return {
    commencementTimestampMs: BigInt(time),
    objectId: addressIn(objectId, "the object id in after"),
  };
});

const addressIn = (text: string, name: string): string => {
  if (!/^0x[0-9a-f]{1,64}$/i.test(text)) {
    throw badInput(
      `${name} must be an address, 0x and 1 to 64 hex digits; it is ${show(text)}`,
      NOT_A(argumentIn(name)),
    );
  }
  return canonicalAddress(text);
};

/** A given text, short enough for a message. */
export const show = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
