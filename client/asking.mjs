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
    const transient = [0, 429, 502, 503, 504].includes(this.status);
    return transient || this.code === "OVERLOADED" || this.code === "RATE_LIMITED"
      ? "retry"
      : "stop";
  }
}

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

/** Does something again while that can help, `attempts` times at most. */
export const retrying = async (attempts, signal, attempt) => {
  for (let number = 0; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof BookError) || error.remedy !== "retry" || number + 1 >= attempts) {
        throw error;
      }
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

/** What an answer that is no success says. */
export const refusalOf = (response, body) => {
  const first = Array.isArray(body?.errors) ? body.errors[0] : undefined;
  return new BookError(
    first?.message ?? body?.details ?? body?.error ?? `the service answered ${response.status}`,
    {
      status: response.status,
      code: first?.extensions?.code ?? body?.code ?? body?.error ?? "",
      requestId: response.headers.get("x-request-id"),
      retryAfterMs: waitAsked(response.headers.get("retry-after")),
    },
  );
};
