/** Requests to a service, retried where that can help. */
import { isPlain } from "./forms.ts";

/** Options that every request takes. */
export type CallOptions = { readonly signal?: AbortSignal | undefined };

/** Options of reads of the register. */
export type ReadOptions = CallOptions & {
  /**
   * The answer shows this checkpoint, or a later one: for reads that follow a write of the caller's own. The service
   * waits for it up to five seconds, then refuses with `NOT_YET_INDEXED`.
   */
  readonly minCheckpoint?: bigint | undefined;
};

/** The answer is not the service's but a proxy's; may pass. */
export const NO_ANSWER = "NO_ANSWER";

const PASSING_STATUSES = new Set([0, 429, 502, 503, 504]);
const PASSING = new Set(["OVERLOADED", "RATE_LIMITED", NO_ANSWER]);

/** Not ready yet, perhaps for hours: followers wait, single requests do not. */
const LATER = new Set([
  "NOT_YET_INDEXED",
  "REBUILDING",
  "QUARANTINED",
  "GRANT_INDEX_BEHIND",
  "INTERNAL",
]);

/** Pauses between attempts, ms: doubled each time, with 20% jitter. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

/** Timers count ms in 31 bits; a longer one would end immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The service refused, could not answer in time, or could not be reached. Requests are retried while that can
 * help; this is the last refusal.
 */
export class BookError extends Error {
  override readonly name = "BookError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** From the service's error body, such as `NOT_YET_INDEXED`; empty without one. */
  readonly code: string;
  /** The member, parameter or header field that was wrong; null without one. */
  readonly param: string | null;
  /** Quote it to the operator of the service. */
  readonly requestId: string | null;
  /** Wait that the service asked for; null without one. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      status = 0,
      code = "",
      param = null,
      requestId = null,
      retryAfterMs = null,
      cause,
    }: {
      readonly status?: number;
      readonly code?: string;
      readonly param?: string | null;
      readonly requestId?: string | null;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.param = param;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request could succeed later, or must be changed first. */
  get remedy(): "retry" | "stop" {
    return passes(this) || LATER.has(this.code) || this.status === 500 ? "retry" : "stop";
  }
}

/** Whether the same request may succeed within seconds. */
const passes = ({ status, code }: BookError) => PASSING_STATUSES.has(status) || PASSING.has(code);

/** Ends early, with the signal's reason, when the signal is raised. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      },
      Math.min(ms, LONGEST_TIMER_MS),
    );
    signal?.addEventListener("abort", stop, { once: true });
  });

/** Pause before attempt `attempt` (from 0); never less than the service asked for. */
export const pauseBefore = (attempt: number, error?: BookError): number => {
  const usual =
    Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.8 + Math.random() * 0.4);
  return Math.max(usual, error?.retryAfterMs ?? 0);
};

/** Retries what may pass soon, at most `attempts` times; without a bound, all that may pass. */
export const retrying = async <Result>(
  attempts: number,
  signal: AbortSignal | undefined,
  attempt: () => Promise<Result>,
): Promise<Result> => {
  for (let number = 0; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof BookError) || number + 1 >= attempts) throw error;
      const canHelp =
        attempts === Number.POSITIVE_INFINITY ? error.remedy === "retry" : passes(error);
      if (!canHelp) throw error;
      await pause(pauseBefore(number, error), signal);
    }
  }
};

/** `fetch`; failures throw BookError. Never follows redirects, which would leak the key. */
export const send = async (
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
): Promise<Response> => {
  const response = await fetch(url, { ...init, redirect: "manual" }).catch((cause: unknown) => {
    init.signal?.throwIfAborted();
    throw new BookError(`${new URL(url).origin} does not answer`, { cause });
  });
  // Browsers hide the location of a redirection.
  const isRedirected = response.type === "opaqueredirect" || response.headers.has("location");
  if (!isRedirected || response.ok) return response;
  const where = response.headers.get("location") ?? "another address";
  throw new BookError(
    `${new URL(url).origin} redirects to ${where}, where no key is sent: give the client that address`,
    { status: response.status || 302, code: "REDIRECTED" },
  );
};

/** The answer's text; one that breaks off can be requested again. */
export const textOf = async (response: Response, signal?: AbortSignal): Promise<string> => {
  try {
    return await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new BookError("the answer broke off", { cause });
  }
};

/** The answer's JSON; undefined where it is none, as a proxy's. */
export const jsonOf = async (response: Response, signal?: AbortSignal): Promise<unknown> => {
  const text = await textOf(response, signal);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** `Retry-After`, seconds or a date (RFC 9110), as ms from now; null if absent or past. */
const retryAfterMs = (header: string | null) => {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : null;
};

export const memberOf = (value: unknown, name: string): unknown =>
  isPlain(value) && Object.hasOwn(value, name) ? value[name] : undefined;

const firstText = (...values: readonly unknown[]) =>
  values.find((value) => typeof value === "string");

/** The error of an unsuccessful answer; `body` is undefined if it was unreadable. */
export const refusalOf = (response: Response, body: unknown): BookError => {
  const errors = memberOf(body, "errors");
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const isNone = body === undefined && response.ok;
  const usual = isNone
    ? "the answer is not from the service: something in front of it answered"
    : `the service answered ${response.status}`;
  const error = memberOf(body, "error");
  const code = memberOf(memberOf(first, "extensions"), "code");
  return new BookError(
    firstText(memberOf(first, "message"), memberOf(body, "details"), error) ?? usual,
    {
      status: response.status,
      code: firstText(code, memberOf(body, "code"), error) ?? (isNone ? NO_ANSWER : ""),
      param: firstText(memberOf(body, "param")) ?? null,
      requestId: response.headers.get("x-request-id"),
      retryAfterMs: retryAfterMs(response.headers.get("retry-after")),
    },
  );
};
