/** Who may ask what the page asks: the keys that open it, and how often each may ask. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Reads } from "../database/readers.ts";
import { createGate, type Gate, type GateSettings, type Visitor } from "./edge/gate.ts";
import type { RateLimit } from "./edge/rate-limit.ts";
import { HttpError } from "./http-error.ts";
import { findKey, type Key, type KeyKind } from "./keys.ts";

/** Header field of the key. */
export const KEY_HEADER = "X-API-Key";

/** `reader`: keys of the kinds graphql and operator. `operator`: those of the kind operator alone. */
export type Access = "reader" | "operator";

const KINDS: Readonly<Record<Access, readonly KeyKind[]>> = {
  reader: ["graphql", "operator"],
  operator: ["operator"],
};

export type Entrance = {
  /**
   * Lets a request in and counts it; the fields of the rate limit are put on its answer.
   * @throws HttpError 401 without a good key, 403 for one of another kind, 429 over a limit
   */
  enter(access: Access, request: FastifyRequest, reply: FastifyReply): Promise<Key>;
  /**
   * Looks again whether a request that was let in still may, and counts nothing.
   * @throws HttpError as `enter` does, but for the limit of the key
   */
  stillMay(access: Access, request: FastifyRequest): Promise<void>;
  /**
   * Counts a request without a key for its address; as above for its answer.
   * @throws HttpError (429) over the limit
   */
  count(request: FastifyRequest, reply: FastifyReply): void;
};

export type EntranceSettings = {
  /** For keys, which are remembered: the same object for all who remember together. */
  readonly keys: Reads;
  /** How often a key may ask, and an address without a good key may try. */
  readonly limits: Pick<GateSettings<Key>, "limit" | "attempts">;
  /** How often an address may ask what takes no key. */
  readonly open: RateLimit;
};

export const createEntrance = ({ keys, limits, open }: EntranceSettings): Entrance => {
  const gateFor = (access: Access): Gate<Key> => {
    const kinds = KINDS[access];
    const verify = async (presented: string) => ofKind(kinds, await findKey(keys, presented));
    return createGate({ ...limits, verify, header: KEY_HEADER });
  };
  const gates = { reader: gateFor("reader"), operator: gateFor("operator") };
  const visitorOf = ({ headers, ip: remoteAddress }: FastifyRequest): Visitor => {
    const presented = headers["x-api-key"];
    return { presented: typeof presented === "string" ? presented : undefined, remoteAddress };
  };
  return {
    enter: async (access, request, reply) => {
      const { key, headers: told } = await gates[access].admit(visitorOf(request));
      reply.headers(told);
      return key;
    },
    stillMay: async (access, request) => void (await gates[access].identify(visitorOf(request))),
    count: ({ ip }, reply) => {
      const counted = open.take(ip);
      if (!counted.allowed) throw open.refusal(counted);
      reply.headers(open.headers(counted));
    },
  };
};

/** @throws HttpError (403) for a key that opens something else */
const ofKind = (kinds: readonly KeyKind[], key: Key | null): Key | null => {
  if (key === null || kinds.includes(key.kind)) return key;
  const needed = kinds.length === 1 ? `the kind ${kinds[0]}` : `the kinds ${kinds.join(" and ")}`;
  throw new HttpError(403, `this is a ${key.kind} key; this takes keys of ${needed}`);
};
