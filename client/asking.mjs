/** Requests to a service, tried again where that can help. */

/** The service refused, could not answer in time, or could not be reached. */
export class BookError extends Error {
  name = "BookError";

  constructor(
    message,
    { status = 0, code = "", requestId = null, retryAfterMs = null, cause } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }

  /** What the caller does next. */
  get remedy() {
    return passes(this) || LATER.has(this.code) || this.status === 500 ? "retry" : "stop";
  }
}

/** An answer that is none of the service's: of a proxy, which may pass. */
export const NO_ANSWER = "NO_ANSWER";

const PASSING_STATUSES = new Set([0, 429, 502, 503, 504]);
const PASSING = new Set(["OVERLOADED", "RATE_LIMITED", NO_ANSWER]);

/** What is not there yet, perhaps for hours, or took too long: whoever follows waits, whoever asked decides. */
const LATER = new Set(["NOT_YET_INDEXED", "REBUILDING", "GRANT_INDEX_BEHIND", "INTERNAL"]);

/** Whether the same request may well succeed within seconds. */
const passes = ({ status, code }) => PASSING_STATUSES.has(status) || PASSING.has(code);

/** Pauses between attempts, milliseconds: doubled each time up to the longest, a fifth more or less. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;

/** Timers count milliseconds in 31 bits; one for longer would be over at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A pause that ends early, with the signal's reason, when the signal is raised. */
export const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
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
export const pauseBefore = (attempt, error) => {
  const usual =
    Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.8 + Math.random() * 0.4);
  return Math.max(usual, error?.retryAfterMs ?? 0);
};

/** Does something again while that can help soon, `attempts` times at most; without a bound while it can at all. */
export const retrying = async (attempts, signal, attempt) => {
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
 * `fetch`, with every failure to get an answer as a BookError. Redirections are not followed: what carries the
 * key would be sent on to wherever they lead.
 */
export const send = async (fetch, url, init) => {
  const response = await fetch(url, { ...init, redirect: "manual" }).catch((cause) => {
    init.signal?.throwIfAborted();
    throw new BookError(`${new URL(url).origin} does not answer`, { cause });
  });
  // Browsers tell nothing more of one.
  const isRedirected = response.type === "opaqueredirect" || response.headers.has("location");
  if (!isRedirected || response.ok) return response;
  const where = response.headers.get("location") ?? "another address";
  throw new BookError(
    `${new URL(url).origin} redirects to ${where}, where no key is sent: give the client that address`,
    { status: response.status || 302, code: "REDIRECTED" },
  );
};

/** The text of an answer. One that breaks off was not given: the request can be sent again. */
export const textOf = async (response, signal) => {
  try {
    return await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new BookError("the answer broke off", { cause });
  }
};

/** The same as JSON; undefined where it is none, as of a proxy. */
export const jsonOf = async (response, signal) => {
  const text = await textOf(response, signal);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Seconds, or a date (RFC 9110), in milliseconds from now; null without or where it is over. */
const waitAsked = (header) => {
  if (header === null) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : null;
};

/** What an answer that is no success says; undefined for one that could not be read. */
export const refusalOf = (response, body) => {
  const first = Array.isArray(body?.errors) ? body.errors[0] : undefined;
  const isNone = body === undefined && response.ok;
  const usual = isNone
    ? "the answer is not the service's: something before it answered"
    : `the service answered ${response.status}`;
  return new BookError(first?.message ?? body?.details ?? body?.error ?? usual, {
    status: response.status,
    code: first?.extensions?.code ?? body?.code ?? body?.error ?? (isNone ? NO_ANSWER : ""),
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: waitAsked(response.headers.get("retry-after")),
  });
};
