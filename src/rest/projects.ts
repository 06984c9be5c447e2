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

export const tokenBook = ({ tokens }: Project): TokenBook => {
  const keyOf = (chainId: number, address: string) => `${chainId} ${address}`;
  const configured = new Map(tokens.map((token) => [keyOf(token.chainId, token.address), token]));
  const printed = new Map<string, PrintedToken>();
  /** Those among them that will not change. */
  const known = new Set<string>();
  /** The last one asked for: a page is mostly of one token. */
  let last:
    | { readonly chainId: number; readonly token: string; readonly of: PrintedToken }
    | undefined;
  return {
    of: ({ chainId, token }) => {
      if (last?.token === token && last.chainId === chainId) return last.of;
      const found = printed.get(keyOf(chainId, token));
      if (found === undefined) return null;
      last = { chainId, token, of: found };
      return found;
    },
    load: async (db, wanted) => {
      let complete = true;
      const asked = new Set<string>();
      for (const { chainId, token: address } of wanted) {
        const key = keyOf(chainId, address);
        const token = configured.get(key);
        if (token === undefined || known.has(key) || asked.has(key)) continue;
        asked.add(key);
        const described = await tokenDescription(db, chainId, address);
        if (described === null) {
          complete = false;
          continue;
        }
        printed.set(key, print(token, described));
        last = undefined;
        // What a token has not told so far it may tell later.
        const { name, symbol, decimals } = described;
        if (name !== null && symbol !== null && decimals !== null) known.add(key);
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
