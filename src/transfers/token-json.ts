/** A project's tokens as its records show them: what the assets file says, and what the contracts do. */
import { createHash } from "node:crypto";
import type { Db } from "../database/connect.ts";
import { tokenDescription } from "../evm/log/descriptions.ts";
import type { EvmToken } from "../settings/assets.ts";
import { printedOnce } from "./printed-once.ts";
import type { Project } from "./projects.ts";

/** A group's id: a number as long as that is exact, else its digits. */
type GroupId = number | string;

/** A token ready to be printed: what its records say of it and of its groups and schedules, as JSON. */
export type PrintedToken = {
  /** From the end of the sender to the recipient's group; null: a wallet that has none known. */
  recipientGroup(id: GroupId | null): Buffer;
  /** From the sender's group to the end of the record. */
  senderGroupAndToken(id: GroupId | null): Buffer;
  /** The schedule's name as a JSON string. */
  scheduleName(id: string): Buffer;
};

/** Which token a record is about; its address in lower case. */
export type TokenKey = { readonly chainId: number; readonly token: string };

/** Prints the tokens of a project. */
export type TokenBook = {
  /**
   * The token of a record; null for one that the assets file does not list, or that has not described
   * itself yet (no record of it exists then), or that has to be read again (see `load`).
   */
  of(key: TokenKey): PrintedToken | null;
  /**
   * Reads the descriptions of tokens among these that are not known yet, or have told only a part: what
   * is missing they may tell later.
   */
  load(db: Db, tokens: readonly TokenKey[]): Promise<void>;
};

/** A configured token, and how it is printed once it has described itself. */
type Entry = {
  readonly token: EvmToken;
  printed: PrintedToken | null;
  /** `performance.now()` from which on it has to be read again; never, once it has told everything. */
  staleAtMs: number;
};

/** How long a token that has told only a part is shown as it was read. */
const PART_FRESH_MS = 5_000;

const NEVER = Number.POSITIVE_INFINITY;

export const tokenBook = ({ tokens }: Project): TokenBook => {
  // Looked up for every record that is printed: without a key to put together.
  const chains = new Map<number, Map<string, Entry>>();
  for (const token of tokens) {
    const entries = chains.get(token.chainId) ?? new Map<string, Entry>();
    chains.set(token.chainId, entries);
    entries.set(token.address, { token, printed: null, staleAtMs: 0 });
  }
  const entryOf = ({ chainId, token }: TokenKey) => chains.get(chainId)?.get(token);
  return {
    of: (key) => {
      const entry = entryOf(key);
      if (entry === undefined) return null;
      const { staleAtMs } = entry;
      const isStale = staleAtMs !== NEVER && staleAtMs <= performance.now();
      return isStale ? null : entry.printed;
    },
    load: async (db, wanted) => {
      for (const entry of new Set(wanted.map(entryOf))) {
        if (entry === undefined || entry.staleAtMs === NEVER) continue;
        const { chainId, address } = entry.token;
        const described = await tokenDescription(db, chainId, address);
        if (described === null) continue;
        entry.printed = print(entry.token, described);
        const { name, symbol, decimals } = described;
        const isWhole = name !== null && symbol !== null && decimals !== null;
        entry.staleAtMs = isWhole ? NEVER : performance.now() + PART_FRESH_MS;
      }
    },
  };
};

const print = (
  token: EvmToken,
  described: NonNullable<Awaited<ReturnType<typeof tokenDescription>>>,
): PrintedToken => {
  const at = new Date(Number(described.describedAtMs)).toISOString();
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

/**
 * A number for a token that follows from chain and address alone: 48 bits of their hash, positive and
 * exact in every JSON parser. Two tokens of one project would have to be several millions for a clash.
 */
const tokenId = ({ chainId, address }: Pick<EvmToken, "chainId" | "address">): number =>
  createHash("sha256").update(`${chainId}:${address}`).digest().readUIntBE(0, 6) + 1;
