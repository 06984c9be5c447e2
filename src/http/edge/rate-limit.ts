/**
 * Rate limits in memory: a token bucket per caller.
 *
 * Header fields follow draft-ietf-httpapi-ratelimit-headers (structured fields):
 * `RateLimit-Policy: "default";q=100;w=60` and `RateLimit: "default";r=50;t=30`. A bucket refills
 * evenly; `t` is the time until it is full. A caller that spends `r` over `t` is never refused.
 */
import { HttpError } from "../http-error.ts";

type RateLimitSettings = {
  readonly policy: string;
  /** Requests per window. */
  readonly quota: number;
  /** Seconds in which an empty bucket refills. */
  readonly windowSeconds: number;
  /** The unit that refusals name; `requests` by default. */
  readonly counted?: string;
  /** Most callers remembered; the least recently seen is forgotten first. */
  readonly maxCallers?: number;
  readonly onRefused?: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
};

export type Verdict = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the bucket is full, rounded up. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed, rounded up; 0 now. */
  readonly retryAfterSeconds: number;
};

export type RateLimit = {
  /** Counts requests of a caller, 1 by default, at most the quota. A refused one costs nothing. */
  take(caller: string, requests?: number): Verdict;
  /** The verdict that the caller's next request would get. */
  peek(caller: string): Verdict;
  /** `RateLimit` and `RateLimit-Policy`. */
  headers(verdict: Verdict): Readonly<Record<string, string>>;
  /** 429 with `Retry-After` and the fields above. */
  refusal(verdict: Verdict): HttpError;
};

type Bucket = {
  /** Requests left at `atMs`; fractional while refilling. */
  level: number;
  atMs: number;
};

/** Rounding tolerance: a caller who waits as long as stated is admitted. */
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
  /** Least recently counted first. */
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
