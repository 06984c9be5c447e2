/** Requests to a service, retried where that can help. */
import { isPlain } from "./forms.ts";

/** An answer that is not the service's: of a proxy, which may pass. */
export const NO_ANSWER = "NO_ANSWER";

const PASSING_STATUSES = new Set([0, 429, 502, 503, 504]);
const PASSING = new Set(["OVERLOADED", "RATE_LIMITED", NO_ANSWER]);

/** Not ready yet, perhaps for hours, or took too long: followers wait, single requests do not. */
const LATER = new Set(["NOT_YET_INDEXED", "REBUILDING", "GRANT_INDEX_BEHIND", "INTERNAL"]);

/** Pauses between attempts, milliseconds: doubled each time up to the longest, a fifth more or less. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

/** Timers count milliseconds in 31 bits; a longer one would end immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The service refused, could not answer in time, or could not be reached. Requests are retried while that can
 * help; this is the last refusal.
 */
export class BookError extends Error {
  override readonly name = "BookError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** From the service's error body, such as `NOT_YET_INDEXED`; empty where there was none. */
  readonly code: string;
  /** To quote when asking the operator of the service. */
  readonly requestId: string | null;
  /** How long the service asked to wait; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      status = 0,
      code = "",
      requestId = null,
      retryAfterMs = null,
      cause,
    }: {
      readonly status?: number;
      readonly code?: string;
      readonly requestId?: string | null;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request could succeed later, or has to be changed first. */
  get remedy(): "retry" | "stop" {
    return passes(this) || LATER.has(this.code) || this.status === 500 ? "retry" : "stop";
  }
}

/** Whether the same request may well succeed within seconds. */
const passes = ({ status, code }: BookError) => PASSING_STATUSES.has(status) || PASSING.has(code);

/** A pause that ends early, with the signal's reason, when the signal is raised. */
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

/** How long to wait before the attempt with this number, from 0; never less than the service asked for. */
export const pauseBefore = (attempt: number, error?: BookError): number => {
  const usual =
    Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.8 + Math.random() * 0.4);
  return Math.max(usual, error?.retryAfterMs ?? 0);
};

/** Retries what may pass soon, `attempts` times at most; without a bound everything that may pass at all. */
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

/**
 * `fetch`, with every failure to get an answer as a BookError. Redirections are not followed: the key would be
 * sent on to wherever they lead.
 */
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

/** The text of an answer; one that breaks off can be requested again. */
export const textOf = async (response: Response, signal?: AbortSignal): Promise<string> => {
  try {
    return await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new BookError("the answer broke off", { cause });
  }
};

/** The JSON of an answer; undefined where it is none, as a proxy's. */
export const jsonOf = async (response: Response, signal?: AbortSignal): Promise<unknown> => {
  const text = await textOf(response, signal);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** `Retry-After`, in seconds or as a date (RFC 9110), as milliseconds from now; null if absent or past. */
const retryAfterMs = (header: string | null) => {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : null;
};

/** A member of a JSON value; undefined where there is none. */
export const memberOf = (value: unknown, name: string): unknown =>
  isPlain(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** The first of some values that is text. */
const firstText = (...values: readonly unknown[]) =>
  values.find((value) => typeof value === "string");

/** The error of an answer without success; `body` is undefined where it could not be read. */
export const refusalOf = (response: Response, body: unknown): BookError => {
  const errors = memberOf(body, "errors");
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const isNone = body === undefined && response.ok;
  const usual = isNone
    ? "the answer is not the service's: something before it answered"
    : `the service answered ${response.status}`;
  const error = memberOf(body, "error");
  const code = memberOf(memberOf(first, "extensions"), "code");
  return new BookError(
    firstText(memberOf(first, "message"), memberOf(body, "details"), error) ?? usual,
    {
      status: response.status,
      code: firstText(code, memberOf(body, "code"), error) ?? (isNone ? NO_ANSWER : ""),
      requestId: response.headers.get("x-request-id"),
      retryAfterMs: retryAfterMs(response.headers.get("retry-after")),
    },
  );
};
