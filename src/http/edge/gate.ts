/**
 * Who may come in, and how often: the key, the rate limit of the key, and the limit on attempts
 * without a good one. The same for every interface; each brings its own way to check a key.
 */
import type { MaybePromise } from "../../database/remembered.ts";
import { HttpError } from "../http-error.ts";
import type { RateLimit } from "./rate-limit.ts";

export type GateSettings<Key extends { readonly id: string }> = {
  /** Header field that carries the key, as the messages name it. */
  readonly header: string;
  /**
   * Looks a presented key up; null when it is unknown.
   * @throws HttpError (403) for a key that is good, but not here
   */
  readonly verify: (presented: string) => MaybePromise<Key | null>;
  /** Requests of one key. */
  readonly limit: RateLimit;
  /** Attempts from one address without a valid key; they never block a valid one. */
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
   * having sent the request.
   * @throws HttpError as `admit` does, but for the limit of the key
   */
  identify(visitor: Visitor): Promise<Key>;
  /**
   * Counts requests for a key that was identified; `RateLimit` and `RateLimit-Policy` for the answer.
   * @throws HttpError 429 over the limit of the key
   */
  count(key: Key, requests: number): Readonly<Record<string, string>>;
};

/** Our keys are shorter; a longer text is not worth hashing. */
const LONGEST_KEY = 512;

export const createGate = <Key extends { readonly id: string }>({
  header,
  verify,
  limit,
  attempts,
}: GateSettings<Key>): Gate<Key> => {
  /** An attempt that failed, as it is answered. */
  const refusal = (remoteAddress: string, error: HttpError): HttpError => {
    const verdict = attempts.take(remoteAddress);
    return verdict.allowed ? error : attempts.refusal(verdict);
  };

  const refuse = (remoteAddress: string, message: string): HttpError =>
    refusal(remoteAddress, new HttpError(401, message));

  const identify: Gate<Key>["identify"] = async ({ presented, remoteAddress }) => {
    if (presented === undefined || presented === "") {
      throw refuse(remoteAddress, `send your key in the header ${header}`);
    }
    if (presented.length > LONGEST_KEY) throw refuse(remoteAddress, "this is not a key");
    // Looked up however many failed before: all callers behind a proxy share an address, and a key's
    // first request must not depend on what others tried. It is one read by a unique hash, and the
    // pool of connections bounds how many there are at a time.
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
