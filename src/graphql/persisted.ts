/**
 * Automatic persisted documents: a caller that sent a document with its SHA-256 names it by that alone afterwards.
 * Yoga's plugin does not serve here: the engine weighs a request, and runs it compiled, before Yoga sees it.
 */
import { createHash } from "node:crypto";
import { GraphQLError } from "graphql";
import { z } from "zod";
import { badInput } from "./errors.ts";

/** Of each caller's own documents, so that no caller sees or displaces another's. The least recently used goes first. */
const KEPT = { charactersPerCaller: 200_000, callers: 100 };

/** The form that clients agree on. */
const namingBody = z.looseObject({
  query: z.string().nullish(),
  extensions: z.looseObject({
    persistedQuery: z.looseObject({
      version: z.literal(1),
      sha256Hash: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  }),
});

/** A body that has its document. */
export type WholeBody = {
  readonly body: string;
  /** Keeps the document under the hash that came with it; absent where none came. */
  readonly keep?: () => void;
};

export type PersistedDocuments = {
  /**
   * Adds the document to a body that has only its hash.
   * @param caller whose documents it may name
   * @returns why it cannot: unknown, or another hash
   */
  complete(body: string, caller: string): WholeBody | GraphQLError;
};

/** Undefined when it is no JSON. */
export const parsedOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** By hash. */
type Documents = { readonly byHash: Map<string, string>; characters: number };

export const createPersistedDocuments = (most = KEPT): PersistedDocuments => {
  /** Both maps begin with the least recently used. */
  const callers = new Map<string, Documents>();

  const documentsOf = (caller: string): Documents => {
    const own = callers.get(caller) ?? { byHash: new Map<string, string>(), characters: 0 };
    callers.delete(caller);
    callers.set(caller, own);
    const [oldest] = callers.keys();
    if (callers.size > most.callers && oldest !== undefined) callers.delete(oldest);
    return own;
  };

  const use = (caller: string, hash: string, text: string): void => {
    const own = documentsOf(caller);
    if (!own.byHash.delete(hash)) own.characters += text.length;
    own.byHash.set(hash, text);
    for (const [oldest, { length }] of own.byHash) {
      if (own.characters <= most.charactersPerCaller) break;
      own.byHash.delete(oldest);
      own.characters -= length;
    }
  };

  return {
    complete(body, caller) {
      if (!body.includes("persistedQuery")) return { body };
      const { success, data } = namingBody.safeParse(parsedOf(body));
      if (!success) return { body };
      const { query, extensions } = data;
      const { sha256Hash } = extensions.persistedQuery;
      if (query) {
        if (createHash("sha256").update(query).digest("hex") !== sha256Hash) return otherHash();
        return { body, keep: () => use(caller, sha256Hash, query) };
      }
      const found = callers.get(caller)?.byHash.get(sha256Hash);
      if (found === undefined) return notKept();
      use(caller, sha256Hash, found);
      return { body: JSON.stringify({ ...data, query: found }) };
    },
  };
};

/** Clients know the message, too, and send the document. */
const notKept = () =>
  new GraphQLError("PersistedQueryNotFound", {
    extensions: { code: "PERSISTED_QUERY_NOT_FOUND" },
  });

const otherHash = () =>
  badInput("extensions.persistedQuery.sha256Hash is not the SHA-256 of query, in hexadecimal");
