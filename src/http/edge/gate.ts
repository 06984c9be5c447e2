/**
 * Admission by key: the key's rate limit, and a limit on attempts without a valid key. Each
 * interface brings its own check of a key.
 */
import type { MaybePromise } from "../../database/short-cache.ts";
import { codedError, HttpError } from "../http-error.ts";
import type { RateLimit } from "./rate-limit.ts";

export type GateSettings<Key extends { readonly id: string }> = {
  /** Header field that carries the key, as messages name it. */
  readonly header: string;
  /**
   * Looks a presented key up; null when unknown.
   * @throws HttpError (403) for a valid key of another interface
   */
  readonly verify: (presented: string) => MaybePromise<Key | null>;
  /** Requests per key. */
  readonly limit: RateLimit;
  /** Attempts per address without a valid key; they never block a valid one. */
  readonly attempts: RateLimit;
};

type Admitted<Key> = {
  readonly key: Key;
  /** `RateLimit` and `RateLimit-Policy`. */
  readonly headers: Readonly<Record<string, string>>;
};

export type Visitor = {
  readonly presented: string | undefined;
  readonly remoteAddress: string;
};

export type Gate<Key> = {
  /**
   * Admits a request and counts it for its key.
   * @throws HttpError 401 without a valid key, 403 for a key of another interface, 429 over a limit
   */
  admit(visitor: Visitor): Promise<Admitted<Key>>;
  /**
   * Finds the key without counting: for public keys, whose owner has yet to prove the request.
   * @throws HttpError as `admit`, except for the key's limit
   */
  identify(visitor: Visitor): Promise<Key>;
  /**
   * Counts requests of an identified key; returns `RateLimit` and `RateLimit-Policy`.
   * @throws HttpError 429 over the key's limit
   */
  count(key: Key, requests: number): Readonly<Record<string, string>>;
};

/** Longer than any key; not worth hashing. */
const LONGEST_KEY = 512;

export const createGate = <Key extends { readonly id: string }>({
  header,
  verify,
  limit,
  attempts,
}: GateSettings<Key>): Gate<Key> => {
  /** Counts a failed attempt and returns its answer. */
  const refusal = (remoteAddress: string, error: HttpError): HttpError => {
    const verdict = attempts.take(remoteAddress);
    return verdict.allowed ? error : attempts.refusal(verdict);
  };

  const refuse = (
    remoteAddress: string,
    message: string,
    code: "KEY_MISSING" | "KEY_INVALID" = "KEY_INVALID",
  ): HttpError => refusal(remoteAddress, codedError(code, message, { param: header }));

  const identify: Gate<Key>["identify"] = async ({ presented, remoteAddress }) => {
    if (presented === undefined || presented === "") {
      throw refuse(remoteAddress, `send your key in the header ${header}`, "KEY_MISSING");
    }
    if (presented.length > LONGEST_KEY) throw refuse(remoteAddress, "this is not a key");
    // Looked up even over the limit on attempts: callers behind a proxy share an address. It is one
    // read by a unique hash, bounded by the connection pool.
    let key: Key | null;
    try {
      key = await verify(presented);
    } catch (error) {
      throw error instanceof HttpError ? refusal(remoteAddress, error) : error;
    }
    if (key === null) {
      throw refuse(remoteAddress, `the key in ${header} is unknown, expired or revoked`);
    }
    return key;
  };

  const count: Gate<Key>["count"] = ({ id }, requests) => {
    const counted = limit.take(id, requests);
    if (!counted.allowed) throw limit.refusal(counted);
    return limit.headers(counted);
  };

  return {
    identify,
    count,
    async admit(visitor) {
      const key = await identify(visitor);
      return { key, headers: count(key, 1) };
    },
  };
};
