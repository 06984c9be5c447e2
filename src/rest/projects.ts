/** Projects and their EVM tokens as records show them: what the assets file says and chains do not. */
import { createHash } from "node:crypto";
import type { Assets, EvmToken } from "../assets.ts";
import type { Db } from "../database/connect.ts";
import type { Address } from "../evm/fact.ts";
import { tokenDescription } from "../evm/log-descriptions.ts";
import type { TransferEvent } from "../projections/transfer-events.ts";

/** A token as configured. */
export type ProjectToken = Pick<
  EvmToken,
  "name" | "network" | "chainId" | "type" | "finality" | "groups" | "schedules"
> & {
  /** In lower case. */
  readonly address: Address;
};

export type Project = {
  readonly name: string;
  readonly callbackUrl: string | undefined;
  readonly tokens: readonly ProjectToken[];
};

/** The projects of the assets file, each with its EVM tokens. */
export const projectsOf = ({ projects }: Assets): readonly Project[] =>
  projects.map(({ name, callbackUrl, tokens }) => ({
    name,
    callbackUrl,
    tokens: tokens
      .filter((token) => token.ledger === "evm")
      .map((token) => ({
        ...token,
        address: `0x${token.address.slice(2).toLowerCase()}` as const,
      })),
  }));

/** A token ready to be printed: its JSON, and the JSON of its groups and schedules' names. */
export type PrintedToken = {
  readonly json: string;
  /** `{"name","blockchain_id"}` of a group id. */
  group(id: string): string;
  /** The schedule's name as a JSON string. */
  scheduleName(id: string): string;
};

/** Prints the tokens of a project. */
export type TokenBook = {
  /**
   * The token of a record; null for one that the assets file does not list, or that has not described
   * itself yet (no record of it exists then).
   */
  of(event: Pick<TransferEvent, "chainId" | "token">): PrintedToken | null;
  /** Reads the descriptions of tokens among these that are not known yet; true when all are known. */
  load(db: Db, tokens: readonly Pick<TransferEvent, "chainId" | "token">[]): Promise<boolean>;
};

/** Most group and schedule names kept printed; beyond that they are printed anew. */
const MOST_PRINTED = 10_000;

/** A configured token, and how it is printed once it has described itself. */
type Entry = { readonly token: ProjectToken; printed: PrintedToken | null; settled: boolean };

export const tokenBook = ({ tokens }: Project): TokenBook => {
  // Looked up for every record that is printed: without a key to put together.
  const chains = new Map<number, Map<string, Entry>>();
  for (const token of tokens) {
    const entries = chains.get(token.chainId) ?? new Map<string, Entry>();
    chains.set(token.chainId, entries);
    entries.set(token.address, { token, printed: null, settled: false });
  }
  const entryOf = ({ chainId, token }: Parameters<TokenBook["of"]>[0]) =>
    chains.get(chainId)?.get(token);
  return {
    of: (event) => entryOf(event)?.printed ?? null,
    load: async (db, wanted) => {
      let complete = true;
      for (const entry of new Set(wanted.map(entryOf))) {
        if (entry === undefined || entry.settled) continue;
        const { chainId, address } = entry.token;
        const described = await tokenDescription(db, chainId, address);
        if (described === null) {
          complete = false;
          continue;
        }
        entry.printed = print(entry.token, described);
        // What a token has not told so far it may tell later.
        const { name, symbol, decimals } = described;
        entry.settled = name !== null && symbol !== null && decimals !== null;
      }
      return complete;
    },
  };
};

const print = (
  token: ProjectToken,
  described: NonNullable<Awaited<ReturnType<typeof tokenDescription>>>,
): PrintedToken => {
  const at = new Date(Number(described.describedAtMs)).toISOString();
  return {
    json: JSON.stringify({
      _blockchain: token.network,
      _token_type: token.type,
      id: tokenId(token),
      contract_address: token.address,
      decimal_places: described.decimals,
      name: described.name ?? token.name,
      symbol: described.symbol,
      created_at: at,
      updated_at: at,
    }),
    group: remembered((id) => {
      const name = token.groups[id] ?? `Group ${id}`;
      return `{"name":${JSON.stringify(name)},"blockchain_id":${id}}`;
    }),
    scheduleName: remembered((id) => JSON.stringify(token.schedules[id] ?? `Schedule ${id}`)),
  };
};

/**
 * A number for a token that follows from chain and address alone: 48 bits of their hash, positive and
 * exact in every JSON parser. Two tokens of one project would have to be several millions for a clash.
 */
export const tokenId = ({ chainId, address }: Pick<ProjectToken, "chainId" | "address">): number =>
  createHash("sha256").update(`${chainId}:${address}`).digest().readUIntBE(0, 6) + 1;

const remembered = (make: (id: string) => string) => {
  const known = new Map<string, string>();
  return (id: string): string => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const made = make(id);
    if (known.size < MOST_PRINTED) known.set(id, made);
    return made;
  };
};
