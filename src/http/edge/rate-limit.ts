/**
 * Rate limits, counted in memory: a token bucket per key of the caller.
 *
 * The header fields are those of draft-ietf-httpapi-ratelimit-headers (structured fields):
 * `RateLimit-Policy: "default";q=100;w=60` and `RateLimit: "default";r=50;t=30`. A bucket refills
 * evenly, so `t` is the time until the whole quota is there again; a caller that spends `r` over `t`
 * is never refused.
 */
import { HttpError } from "../http-error.ts";

export type RateLimitSettings = {
  /** Name of the policy in the header fields. */
  readonly policy: string;
  /** Requests that may be made in one window. */
  readonly quota: number;
  /** Seconds in which the whole quota refills. */
  readonly windowSeconds: number;
  /** What is counted, as the refusal names it; `requests` unless given. */
  readonly counted?: string;
  /** Most callers remembered at once; the one not seen for longest is forgotten first. */
  readonly maxCallers?: number;
  /** Told of each refusal; nobody is unless given. */
  readonly onRefused?: () => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
};

/** What became of one request. */
export type Verdict = {
  readonly allowed: boolean;
  /** Requests left, whole. */
  readonly remaining: number;
  /** Seconds until the whole quota is there again, rounded up. */
  readonly resetSeconds: number;
  /** Seconds until the request is allowed (after one that was: one more), rounded up; 0 when it is. */
  readonly retryAfterSeconds: number;
};

export type RateLimit = {
  /**
   * Counts requests of this caller, one unless given: one that does much counts as several, at the most
   * as the whole quota. A refused one costs nothing.
   */
  take(caller: string, requests?: number): Verdict;
  /** The verdict a request of this caller would get, without counting it. */
  peek(caller: string): Verdict;
  /** `RateLimit` and `RateLimit-Policy` for an answer. */
  headers(verdict: Verdict): Readonly<Record<string, string>>;
  /** The error for a refused request: 429 with `Retry-After` and the fields above. */
  refusal(verdict: Verdict): HttpError;
};

type Bucket = {
  /** Requests left when it was last counted; fractions are what has refilled so far. */
  level: number;
  /** When that was. */
  atMs: number;
};

/**
 * Tolerance for rounding: a caller who waits as long as told is admitted. The level may then go below
 * zero by this much.
 */
const ROUNDING = 1e-6;

/** A forgotten caller starts with a full bucket, so remember many: 50,000 take about 10 MB. */
const MAX_CALLERS = 50_000;

export const createRateLimit = ({
  policy,
  quota,
  windowSeconds,
  counted = "requests",
  maxCallers = MAX_CALLERS,
  onRefused,
  now = () => performance.now(),
}: RateLimitSettings): RateLimit => {
  /** In the order last counted: the first is the one not seen for longest. */
  const buckets = new Map<string, Bucket>();
  const perMs = quota / (windowSeconds * 1000);

  const level = (caller: string, atMs: number): number => {
    const bucket = buckets.get(caller);
    if (bucket === undefined) return quota;
    return Math.min(quota, bucket.level + (atMs - bucket.atMs) * perMs);
  };

  const remember = (caller: string, bucket: Bucket) => {
    buckets.delete(caller);
    buckets.set(caller, bucket);
    const oldest = buckets.size > maxCallers ? buckets.keys().next() : undefined;
    if (oldest?.done === false) buckets.delete(oldest.value);
  };

  const isEnough = (left: number, requests = 1): boolean => left >= requests - ROUNDING;

  const seconds = (missing: number): number =>
    Math.ceil(Math.max(0, missing - ROUNDING) / perMs / 1000);

  const verdict = (allowed: boolean, left: number, wanted = 1): Verdict => ({
    allowed,
    remaining: Math.max(0, Math.floor(left + ROUNDING)),
    resetSeconds: seconds(quota - left),
    retryAfterSeconds: seconds(wanted - left),
  });

  const headers = ({ remaining, resetSeconds }: Verdict) => ({
    "ratelimit-policy": `"${policy}";q=${quota};w=${windowSeconds}`,
    ratelimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  });

  return {
    take(caller, requests = 1) {
      const atMs = now();
      const left = level(caller, atMs);
      const wanted = Math.min(requests, quota);
      const allowed = isEnough(left, wanted);
      const after = allowed ? left - wanted : left;
      remember(caller, { level: after, atMs });
      return verdict(allowed, after, allowed ? 1 : wanted);
    },
    peek(caller) {
      const left = level(caller, now());
      return verdict(isEnough(left), left);
    },
    headers,
    refusal: (refused) => {
      onRefused?.();
      return new HttpError(
        429,
        `more than ${quota} ${counted} in ${windowSeconds} s; try again in ${refused.retryAfterSeconds} s`,
        { ...headers(refused), "retry-after": String(refused.retryAfterSeconds) },
      );
    },
  };
};
