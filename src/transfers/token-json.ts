/** A project's tokens as its records show them: from the assets file and the contracts. */
import { createHash } from "node:crypto";
import type { Db } from "../database/connect.ts";
import { type DescribedToken, tokenDescription } from "../evm/log/descriptions.ts";
import type { EvmToken } from "../settings/assets.ts";
import type { Project } from "./projects.ts";

/** A number while that is exact, else its digits. */
type GroupId = number | string;

/** JSON fragments of a token, its groups and its schedules. */
export type PrintedToken = {
  /** From the end of the sender to the recipient's group; null: no known group. */
  recipientGroup(id: GroupId | null): Buffer;
  /** From the sender's group to the end of the record. */
  senderGroupAndToken(id: GroupId | null): Buffer;
  /** The schedule's name as a JSON string. */
  scheduleName(id: string): Buffer;
};

/** Address in lower case. */
export type TokenKey = { readonly chainId: number; readonly token: string };

export type TokenBook = ReturnType<typeof tokenBook>;

/** A configured token, and its JSON once it has a description. */
type Entry = {
  readonly token: EvmToken;
  printed: PrintedToken | null;
  /** `performance.now()` after which to read it again; never once complete. */
  staleAtMs: number;
};

/** How long an incomplete description is cached. */
const INCOMPLETE_TTL_MS = 5_000;

const NEVER = Number.POSITIVE_INFINITY;

export const tokenBook = ({ tokens }: Project) => {
  // Nested maps: a lookup per record without building a key.
  const chains = new Map<number, Map<string, Entry>>();
  for (const token of tokens) {
    const entries = chains.get(token.chainId) ?? new Map<string, Entry>();
    chains.set(token.chainId, entries);
    entries.set(token.address, { token, printed: null, staleAtMs: 0 });
  }
  const entryOf = ({ chainId, token }: TokenKey) => chains.get(chainId)?.get(token);
  return {
    /** Null for an unlisted or undescribed token, and for one that `load` must read again. */
    of: (key: TokenKey): PrintedToken | null => {
      const entry = entryOf(key);
      if (entry === undefined) return null;
      const { staleAtMs } = entry;
      const isStale = staleAtMs !== NEVER && staleAtMs <= performance.now();
      return isStale ? null : entry.printed;
    },
    /** Reads unknown descriptions, and incomplete ones again: they may become complete. */
    load: async (db: Db, wanted: readonly TokenKey[]): Promise<void> => {
      for (const entry of new Set(wanted.map(entryOf))) {
        if (entry === undefined || entry.staleAtMs === NEVER) continue;
        const { chainId, address } = entry.token;
        const described = await tokenDescription(db, chainId, address);
        if (described === null) continue;
        entry.printed = print(entry.token, described);
        const { name, symbol, decimals } = described;
        const isWhole = name !== null && symbol !== null && decimals !== null;
        entry.staleAtMs = isWhole ? NEVER : performance.now() + INCOMPLETE_TTL_MS;
      }
    },
  };
};

const print = (token: EvmToken, described: DescribedToken): PrintedToken => {
  const at = described.describedAt;
  const json = JSON.stringify({
    _blockchain: token.network,
    _token_type: token.type,
    id: tokenId(token),
    contract_address: token.address,
    decimal_places: described.decimals,
    name: described.name ?? token.name,
    symbol: described.symbol,
    created_at: at,
    updated_at: at,
  });
  const group = (id: GroupId | null): string => {
    if (id === null) return "null";
    const name = token.groups[id] ?? `Group ${id}`;
    return `{"name":${JSON.stringify(name)},"blockchain_id":${id}}`;
  };
  return {
    recipientGroup: printedOnce((id) => `"},"recipient_reg_group":${group(id)}`),
    senderGroupAndToken: printedOnce((id) => `,"sender_reg_group":${group(id)},"token":${json}}`),
    scheduleName: printedOnce((id: string) =>
      JSON.stringify(token.schedules[id] ?? `Schedule ${id}`),
    ),
  };
};

/** 48 bits of a hash: exact in every JSON parser; a clash needs millions of tokens in one project. */
const tokenId = ({ chainId, address }: Pick<EvmToken, "chainId" | "address">): number =>
  createHash("sha256").update(`${chainId}:${address}`).digest().readUIntBE(0, 6) + 1;

/** Cache bounds per kind of text, of about half a kilobyte each; others are printed each time. */
const MOST_KEPT = 1_000;
const MOST_KEPT_BYTES = 1024 * 1024;

/** Caches texts that many records share, as bytes. */
export const printedOnce = <Id extends number | string | null>(print: (id: Id) => string) => {
  const known = new Map<Id, Buffer>();
  let keptBytes = 0;
  return (id: Id): Buffer => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const printed = unpooled(print(id));
    if (known.size < MOST_KEPT && keptBytes + printed.length <= MOST_KEPT_BYTES) {
      known.set(id, printed);
      keptBytes += printed.length;
    }
    return printed;
  };
};

/** A slice of Node's buffer pool would retain all of it. */
const unpooled = (text: string): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
};
