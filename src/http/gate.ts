/**
 * Who may come in, and how often: the key, the rate limit of the key, and the limit on attempts
 * without a good one. The same for every interface; each brings its own way to check a key.
 */
import { createHash } from "node:crypto";
import { HttpError } from "./http-error.ts";
import type { RateLimit } from "./rate-limit.ts";

export type GateSettings<Key extends { readonly id: string }> = {
  /** Header field that carries the key, as the messages name it. */
  readonly header: string;
  /**
   * Looks a presented key up; null when nobody knows it.
   * @throws HttpError (403) for a key that is good, but not here
   */
  readonly verify: (presented: string) => Promise<Key | null>;
  /** Requests of one key. */
  readonly limit: RateLimit;
  /** Attempts from one address without a good key. */
  readonly attempts: RateLimit;
};

export type Admission<Key> = {
  readonly key: Key;
  /** `RateLimit` and `RateLimit-Policy` for the answer. */
  readonly headers: Readonly<Record<string, string>>;
};

/** What a request brings to the gate. */
export type Visitor = {
  readonly presented: string | undefined;
  readonly remoteAddress: string;
};

export type Gate<Key> = {
  /**
   * Lets a request in, and counts it for its key.
   * @throws HttpError 401 without a good key, 403 for a key of another interface, 429 over a limit
   */
  admit(visitor: Visitor): Promise<Admission<Key>>;
  /**
   * Knows the key and counts nothing for it: for keys that are no secret, whose owner has yet to prove
   * that the request is his.
   * @throws HttpError as `admit` does, but for the limit of the key
   */
  identify(visitor: Visitor): Promise<Key>;
};

/** Our keys are shorter; a longer text is not worth hashing. */
const LONGEST_KEY = 512;

/** How many keys that were good are remembered, and for how long. */
const KNOWN_KEYS = 10_000;
const KNOWN_MS = 10 * 60_000;

export const createGate = <Key extends { readonly id: string }>({
  header,
  verify,
  limit,
  attempts,
}: GateSettings<Key>): Gate<Key> => {
  const known = knownKeys();

  const refuse = (remoteAddress: string, message: string): HttpError => {
    const verdict = attempts.take(remoteAddress);
    return verdict.allowed ? new HttpError(401, message) : attempts.refusal(verdict);
  };

  const identify: Gate<Key>["identify"] = async ({ presented, remoteAddress }) => {
    if (presented === undefined || presented === "") {
      throw refuse(remoteAddress, `send your key in the header ${header}`);
    }
    if (presented.length > LONGEST_KEY) throw refuse(remoteAddress, "this is not a key");
    // Behind one proxy all callers share an address: one with an old key must not shut out the rest.
    const digest = createHash("sha256").update(presented).digest("base64");
    const verdict = attempts.peek(remoteAddress);
    if (!verdict.allowed && !known.has(digest)) throw attempts.refusal(verdict);

    const key = await verify(presented).catch((error: unknown) => {
      if (error instanceof HttpError) attempts.take(remoteAddress);
      throw error;
    });
    if (key === null) {
      known.delete(digest);
      throw refuse(remoteAddress, `the key in ${header} is unknown, expired or revoked`);
    }
    known.add(digest);
    return key;
  };

  return {
    identify,
    async admit(visitor) {
      const key = await identify(visitor);
      const counted = limit.take(key.id);
      if (!counted.allowed) throw limit.refusal(counted);
      return { key, headers: limit.headers(counted) };
    },
  };
};

/** Keys that were good a short while ago, by digest; the oldest are forgotten first. */
const knownKeys = () => {
  const until = new Map<string, number>();
  return {
    has: (digest: string): boolean => (until.get(digest) ?? 0) > performance.now(),
    delete: (digest: string): boolean => until.delete(digest),
    add: (digest: string): void => {
      until.delete(digest);
      until.set(digest, performance.now() + KNOWN_MS);
      const oldest = until.size > KNOWN_KEYS ? until.keys().next() : undefined;
      if (oldest?.done === false) until.delete(oldest.value);
    },
  };
};
