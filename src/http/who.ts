/** Who may call a route: anyone, limited per address, or holders of some kinds of keys. */
import type { IncomingMessage } from "node:http";
import type { Reads } from "../database/readers.ts";
import { createGate, type Gate, type GateSettings, type Visitor } from "./edge/gate.ts";
import type { RateLimit } from "./edge/rate-limit.ts";
import { codedError } from "./http-error.ts";
import { findKey, type Key, type KeyKind } from "./keys.ts";
import {
  ANY_PARAMETERS,
  REPLY,
  type Reply,
  type Route,
  route,
  type Visit,
  type Who,
} from "./route.ts";

/** Header field of `graphql` and `operator` keys. */
export const KEY_HEADER = "X-API-Key";

/** @param limit counts requests per address */
export const anyone = (limit?: RateLimit): Who<undefined> => ({
  enter: (visit) => {
    if (limit === undefined) return undefined;
    const counted = limit.take(visit.remoteAddress);
    if (!counted.allowed) throw limit.refusal(counted);
    visit.addFields(limit.headers(counted));
    return undefined;
  },
  described: { schemes: {}, refusals: limit === undefined ? [] : [429] },
});

/** A GET for anyone, outside the OpenAPI document, with any parameters. */
export const openGet = (path: string, reply: (visit: Visit) => Promise<Reply | undefined>): Route =>
  route({
    method: "GET",
    path,
    isHidden: true,
    who: anyone(),
    query: ANY_PARAMETERS,
    answer: REPLY,
    handle: ({ visit }) => reply(visit),
  });

/** Limits per key, and per address without a valid key. */
export type Limits = Pick<GateSettings<Key>, "limit" | "attempts">;

type KeyHolders<Kind extends KeyKind> = {
  readonly kinds: readonly Kind[];
  readonly header: string;
  readonly scheme: { readonly name: string; readonly description?: string };
  /** For cached keys: callers that pass the same object share the cache. */
  readonly keys: Reads;
  readonly limits: Limits;
} & Pick<NonNullable<Who<Key>["bounds"]>, "admission" | "unsent">;

export type KeyOf<Kind extends KeyKind> = Key & { readonly kind: Kind };

/** Holders of these kinds of keys; `gate` is for requests that count as several. */
export const keyHolders = <Kind extends KeyKind>({
  kinds,
  header,
  scheme: { name, ...about },
  keys,
  limits,
  ...bounds
}: KeyHolders<Kind>): Who<KeyOf<Kind>> & { readonly gate: Gate<KeyOf<Kind>> } => {
  const isOfKind = (key: Key): key is KeyOf<Kind> => kinds.some((kind) => kind === key.kind);
  const ofKind = (key: Key | null): KeyOf<Kind> | null => {
    if (key === null || isOfKind(key)) return key;
    const needed = kinds.length === 1 ? `the kind ${kinds[0]}` : `the kinds ${kinds.join(" and ")}`;
    throw codedError("KEY_NOT_ALLOWED", `this is a ${key.kind} key; this takes keys of ${needed}`);
  };
  const gate = createGate({
    ...limits,
    header,
    verify: (presented) => {
      const found = findKey(keys, presented);
      return found instanceof Promise ? found.then(ofKind) : ofKind(found);
    },
  });
  const visitorOf = ({ raw, remoteAddress }: Visit): Visitor => ({
    presented: headerOf(raw, header.toLowerCase()),
    remoteAddress,
  });
  return {
    gate,
    enter: async (visit) => {
      const { key, headers } = await gate.admit(visitorOf(visit));
      visit.addFields(headers);
      return key;
    },
    recheck: (visit) => gate.identify(visitorOf(visit)),
    bounds: { ...bounds, idOf: ({ id }) => id },
    described: {
      schemes: { [name]: { type: "apiKey", in: "header", name: header, ...about } },
      refusals: [401, 403, 429],
    },
  };
};

/** By lower-case name; undefined also when repeated. */
export const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
};
