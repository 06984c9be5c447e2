/** Who may call a route: anybody, within a limit for each address, or the keys of some kinds. */
import type { IncomingMessage } from "node:http";
import type { Reads } from "../database/readers.ts";
import { createGate, type Gate, type GateSettings, type Visitor } from "./edge/gate.ts";
import type { RateLimit } from "./edge/rate-limit.ts";
import { HttpError } from "./http-error.ts";
import { findKey, type Key, type KeyKind } from "./keys.ts";
import type { Visit, Who } from "./route.ts";

/** Header field of keys of the kinds graphql and operator. */
export const KEY_HEADER = "X-API-Key";

/** Anybody. @param limit counts the requests of an address */
export const anybody = (limit?: RateLimit): Who<undefined> => ({
  enter: (visit) => {
    if (limit === undefined) return undefined;
    const counted = limit.take(visit.remoteAddress);
    if (!counted.allowed) throw limit.refusal(counted);
    visit.addFields(limit.headers(counted));
    return undefined;
  },
  described: { schemes: {}, refusals: limit === undefined ? [] : [429] },
});

/** How often a key may ask, and an address without a good key may try. */
export type Limits = Pick<GateSettings<Key>, "limit" | "attempts">;

export type KeyHolders<Kind extends KeyKind> = {
  readonly kinds: readonly Kind[];
  /** Header field of the key. */
  readonly header: string;
  /** Name and description of the document's security scheme. */
  readonly scheme: { readonly name: string; readonly description?: string };
  /** For keys, which are remembered: the same object for all who remember together. */
  readonly keys: Reads;
  readonly limits: Limits;
} & Pick<NonNullable<Who<Key>["bounds"]>, "admission" | "unsent">;

/** A key of one of the kinds. */
export type KeyOf<Kind extends KeyKind> = Key & { readonly kind: Kind };

/** Callers with a key of these kinds; the gate is for requests that count as several. */
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
    throw new HttpError(403, `this is a ${key.kind} key; this takes keys of ${needed}`);
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

/** A header field, by its name in lower case; undefined also for one that is repeated. */
export const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
};
