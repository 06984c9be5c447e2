/**
 * Automatic persisted documents: a caller that sent a document with its SHA-256 names it by that alone afterwards.
 * Yoga's plugin does not serve here: the engine weighs a request, and runs it compiled, before Yoga sees it.
 */
import { createHash } from "node:crypto";
import { GraphQLError } from "graphql";
import { z } from "zod";
import { badInput } from "./errors.ts";

/** Characters of all documents kept; the least recently used goes first. */
const KEPT_CHARACTERS = 2_000_000;

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
  /** Adds the document to a body that has only its hash. @returns why it cannot: unknown, or another hash */
  complete(body: string): WholeBody | GraphQLError;
};

/** Undefined when it is no JSON. */
export const parsedOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const createPersistedDocuments = (mostCharacters = KEPT_CHARACTERS): PersistedDocuments => {
  /** By hash, least recently used first. */
  const kept = new Map<string, string>();
  let characters = 0;

  const use = (hash: string, text: string): void => {
    if (!kept.delete(hash)) characters += text.length;
    kept.set(hash, text);
    for (const [oldest, { length }] of kept) {
      if (characters <= mostCharacters) break;
      kept.delete(oldest);
      characters -= length;
    }
  };

  return {
    complete(body) {
      if (!body.includes("persistedQuery")) return { body };
      const { success, data } = namingBody.safeParse(parsedOf(body));
      if (!success) return { body };
      const { query, extensions } = data;
      const { sha256Hash } = extensions.persistedQuery;
      if (query) {
        if (createHash("sha256").update(query).digest("hex") !== sha256Hash) return otherHash();
        return { body, keep: () => use(sha256Hash, query) };
      }
      const found = kept.get(sha256Hash);
      if (found === undefined) return notKept();
      use(sha256Hash, found);
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
