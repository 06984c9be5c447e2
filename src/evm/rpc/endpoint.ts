/**
 * One JSON-RPC endpoint over viem's HTTP client: batches whose size and pace adapt to what the endpoint
 * accepts, and named errors. `fleet.ts` retries at other endpoints.
 */
import { HttpRequestError, ResponseBodyTooLargeError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { retryAfterMs } from "../../waiting/retry-after.ts";
import { isOfContract, LyingRpcError, RpcRefusedError, RpcUnavailableError } from "./errors.ts";
import { openPace } from "./pace.ts";
import { keyRedactor } from "./redaction.ts";
import { isObject } from "./replies.ts";

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] };

/** The endpoint's answer to one call. */
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcRefusedError };

/** @throws RpcRefusedError (retry) */
export const resultOf = (outcome: Outcome | undefined): unknown => {
  if (outcome?.ok === false) throw outcome.error;
  return outcome?.result;
};

export type Endpoint = {
  /** Scheme and host: without path or credentials, which may hold keys. */
  readonly label: string;
  /**
   * Results in the order of the calls.
   * @param most calls in one HTTP request, where answers are large
   * @throws RpcUnavailableError, RpcRefusedError (of the first refused call), LyingRpcError
   */
  batch(calls: readonly RpcCall[], signal: AbortSignal, most?: number): Promise<readonly unknown[]>;
  /** As `batch`, with the refusal of a call as its outcome. */
  outcomes(
    calls: readonly RpcCall[],
    signal: AbortSignal,
    most?: number,
  ): Promise<readonly Outcome[]>;
};

/** One HTTP request to an endpoint, for metrics. */
export type EndpointRequest = {
  /** Scheme and host. */
  readonly endpoint: string;
  readonly calls: number;
  readonly seconds: number;
  /** Why it failed, from a small set; undefined when it was answered. */
  readonly failure: string | undefined;
};

export type EndpointSettings = {
  /** Called after every HTTP request that we did not cut off. */
  readonly onRequest?: ((request: EndpointRequest) => void) | undefined;
  /** For one HTTP request. */
  readonly timeoutMs: number;
  /** Most calls in one HTTP request; `openPace` lowers it. */
  readonly batchCalls: number;
  /** Concurrent HTTP requests for one batch. */
  readonly parallel: number;
  /** Longest answer read into memory, bytes. */
  readonly maxResponseBytes: number;
  /** Whether calls wait while the endpoint asked for a pause, or fail. */
  readonly waits: boolean;
};

/** Accepted by public providers; a full Ethereum block is about 0.5 MB. */
export const endpointDefaults: EndpointSettings = {
  timeoutMs: 20_000,
  batchCalls: 100,
  parallel: 4,
  maxResponseBytes: 64 * 1024 * 1024,
  waits: true,
};

/**
 * @param url http or https; credentials in it are sent as basic authentication
 * @param label its name in errors, without what may be a key
 * @param waitsFor whether to wait out a rate limit here, keeping all that was answered, instead of throwing it
 */
export const openEndpoint = (
  url: string,
  label: string,
  settings: EndpointSettings,
  waitsFor: (refusal: RpcUnavailableError) => boolean,
): Endpoint => {
  const hide = keyRedactor(url);
  const client = getHttpRpcClient(url, {
    timeout: 0,
    maxResponseBodySize: settings.maxResponseBytes,
  });
  const pace = openPace(settings.batchCalls);
  let nextId = 1;

  /** One HTTP request: a plain call, or an array of several. */
  const post = async (calls: readonly RpcCall[], signal: AbortSignal) => {
    const timeout = AbortSignal.timeout(settings.timeoutMs);
    const body = calls.map(({ method, params }) => ({ id: nextId++, method, params: [...params] }));
    const [single] = body;
    const answered: { status?: number; retryAfter?: string | null } = {};
    let reply: unknown;
    const beganMs = performance.now();
    const report = (failure?: string) => {
      const seconds = (performance.now() - beganMs) / 1_000;
      settings.onRequest?.({ endpoint: label, calls: calls.length, seconds, failure });
    };
    try {
      reply = await client.request({
        body: body.length === 1 && single !== undefined ? single : body,
        fetchOptions: { signal: AbortSignal.any([signal, timeout]) },
        onResponse: ({ status, headers }) => {
          answered.status = status;
          answered.retryAfter = headers.get("retry-after");
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      const why = timeout.aborted
        ? new RpcUnavailableError(label, "timeout", `no answer within ${settings.timeoutMs} ms`)
        : unavailable(label, error, answered);
      report(why.reason);
      throw why;
    }
    if (answered.status === 429) {
      report("rate limit");
      throw rateLimited(label, answered.retryAfter);
    }
    report(isObject(reply) && isObject(reply.error) ? "refused" : undefined);
    return { reply, ids: body.map(({ id }) => id) };
  };

  /** One HTTP request; outcomes stay undefined for calls that must be repeated. */
  const ask = async (calls: readonly RpcCall[], signal: AbortSignal): Promise<Asked> => {
    const none: Asked = { outcomes: calls.map(() => undefined), limited: undefined };
    let reply: unknown;
    let ids: readonly number[];
    try {
      ({ reply, ids } = await post(calls, signal));
    } catch (error) {
      if (!(error instanceof RpcUnavailableError)) throw error;
      if (error.reason === "rate limit") return { ...none, limited: error };
      if (calls.length === 1 || !ofSize.has(error.reason)) throw error;
      pace.tooMany(calls.length, false);
      return none;
    }
    if (calls.length === 1) return answersIn(label, calls, [reply], hide);
    if (Array.isArray(reply)) {
      // By id: servers may answer in any order.
      const byId = new Map(reply.filter(isObject).map((each) => [each.id, each]));
      const replies = ids.map((id) => byId.get(id));
      const refused = reply.find((each) => isObject(each) && isObject(each.error));
      if (reply.length >= calls.length || refused === undefined) {
        return answersIn(label, calls, replies, hide);
      }
      // Fewer answers than calls, and one of them an error: it may be of the batch, under any id.
      const limited = limitIn(label, refused, hide);
      if (limited === undefined) pace.tooMany(calls.length, true);
      const good = replies.map((each) => (each !== undefined && "result" in each ? each : AGAIN));
      return { ...answersIn(label, calls, good, hide), limited };
    }
    // One answer for the whole batch: usually refused for its size.
    const limited = limitIn(label, reply, hide);
    if (limited === undefined) pace.tooMany(calls.length, true);
    return { ...none, limited };
  };

  const outcomes = async (
    calls: readonly RpcCall[],
    signal: AbortSignal,
    most = settings.batchCalls,
  ) => {
    const answers: Outcome[] = new Array(calls.length);
    /** Parts still to be sent, each in a request of its own. */
    const parts: (readonly Asking[])[] = [];
    const put = (part: readonly Asking[]) => {
      if (part.length > 0) parts.unshift(part);
    };
    put(calls.map((call, at) => ({ call, at })));
    let failed = false;
    let fruitless = 0;

    const restsFor = (ms: number) => {
      if (!settings.waits) throw leftAlone(label, ms);
    };
    const next = async (began: number) => {
      const part = failed ? [] : take(parts, Math.min(pace.size(), most));
      if (part.length === 0) return;
      const asked = await ask(
        part.map(({ call }) => call),
        signal,
      );
      const left = part.filter(({ at }, i) => {
        const outcome = asked.outcomes[i];
        if (outcome !== undefined) answers[at] = outcome;
        return outcome === undefined;
      });
      if (left.length < part.length) fruitless = 0;
      if (asked.limited !== undefined) {
        put(left);
        const { retryAfterMs } = asked.limited;
        if (pace.limited(began, retryAfterMs) && left.length === part.length) fruitless += 1;
        if (fruitless > FRUITLESS_WAITS || !waitsFor(asked.limited)) throw asked.limited;
      } else if (left.length < part.length) {
        pace.answered(began, part.length);
        put(left);
      } else {
        const half = Math.ceil(left.length / 2);
        put(left.slice(half));
        put(left.slice(0, half));
      }
    };
    const worker = async () => {
      try {
        while (!failed && parts.length > 0) await pace.turn(next, signal, restsFor);
      } catch (error) {
        failed = true;
        throw error;
      }
    };
    await Promise.all(Array.from({ length: settings.parallel }, worker));
    return answers;
  };

  return {
    label,
    outcomes,
    batch: async (calls, signal, most) => (await outcomes(calls, signal, most)).map(resultOf),
  };
};

/** A call, and its index among those asked for. */
type Asking = { readonly call: RpcCall; readonly at: number };

/** The next calls to ask, at most so many; none when nothing is left. */
const take = (parts: (readonly Asking[])[], most: number): readonly Asking[] => {
  const part = parts.shift() ?? [];
  if (part.length > most) parts.unshift(part.slice(most));
  return part.slice(0, most);
};

/** The answers of one HTTP request. */
type Asked = {
  /** In the order of the calls; undefined for a call that must be repeated. */
  readonly outcomes: readonly (Outcome | undefined)[];
  /** The endpoint wants fewer requests. */
  readonly limited: RpcUnavailableError | undefined;
};

/** Rate limits in a row, without any answer, that are waited out. */
const FRUITLESS_WAITS = 3;

/** Failures that a smaller batch may avoid. */
const ofSize: ReadonlySet<RpcUnavailableError["reason"]> = new Set([
  "too large",
  "timeout",
  "cut",
  "bad request",
]);

/** In place of a reply: the call must be repeated. */
const AGAIN = Symbol("again");

const answersIn = (
  label: string,
  calls: readonly RpcCall[],
  replies: readonly unknown[],
  hide: (text: string) => string,
): Asked => {
  let limited: RpcUnavailableError | undefined;
  const outcomes = calls.map(({ method }, i): Outcome | undefined => {
    const reply = replies[i];
    if (reply === AGAIN) return undefined;
    if (!isObject(reply)) {
      throw new LyingRpcError(label, "malformed reply", `${method} was not answered`);
    }
    if (isObject(reply.error)) {
      const refusal = limitIn(label, reply, hide);
      limited ??= refusal;
      const { code, message } = errorIn(reply, hide);
      // Too large together: alone, the call is answered.
      const again = calls.length > 1 && /response (?:is )?too large/i.test(message);
      if (refusal !== undefined || again) return undefined;
      return { ok: false, error: new RpcRefusedError(label, method, code, message) };
    }
    if (!("result" in reply)) {
      throw new LyingRpcError(label, "malformed reply", `${method} has neither result nor error`);
    }
    return { ok: true, result: reply.result };
  });
  return { outcomes, limited };
};

const errorIn = (reply: unknown, hide: (text: string) => string) => {
  const error = isObject(reply) && isObject(reply.error) ? reply.error : {};
  return {
    code: typeof error.code === "number" ? error.code : 0,
    message: typeof error.message === "string" ? hide(error.message) : "without a message",
  };
};

/** The rate limit that a reply reports; undefined for any other reply. */
const limitIn = (
  label: string,
  reply: unknown,
  hide: (text: string) => string,
): RpcUnavailableError | undefined => {
  const { code, message } = errorIn(reply, hide);
  return isRateLimit(code, message) ? rateLimited(label, null, message) : undefined;
};

/** Status and `Retry-After` of a response; empty while there was none. */
type Answered = { readonly status?: number; readonly retryAfter?: string | null };

/** The client's error without the URL, which may hold a key, and the request, which it quotes. */
const unavailable = (label: string, error: unknown, answered: Answered): RpcUnavailableError => {
  const { status } = answered;
  if (status === 429) return rateLimited(label, answered.retryAfter);
  if (error instanceof ResponseBodyTooLargeError || status === 413) {
    return new RpcUnavailableError(label, "too large", "the answer exceeds the size limit");
  }
  const retryAfter = retryAfterMs(answered.retryAfter);
  if (status === 408 || status === 504 || status === 524) {
    return new RpcUnavailableError(label, "timeout", `HTTP ${status}`, retryAfter);
  }
  if (status !== undefined && (status < 200 || status >= 300)) {
    const reason =
      status === 401 || status === 403
        ? "failure"
        : status >= 400 && status < 500 && status !== 404
          ? "bad request"
          : "status";
    return new RpcUnavailableError(label, reason, `HTTP ${status}`, retryAfter);
  }
  const details = error instanceof HttpRequestError ? causeOf(error) : "the answer is not JSON";
  const reason = status !== undefined || CUT.test(details) ? "cut" : "failure";
  return new RpcUnavailableError(label, reason, details, retryAfter);
};

/** Codes of a connection that ended early, by the system and by Node's client. */
const CUT = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

const rateLimited = (label: string, retryAfter: string | null | undefined, why = "HTTP 429") =>
  new RpcUnavailableError(
    label,
    "rate limit",
    `asks for fewer requests (${why.slice(0, 200)})`,
    retryAfterMs(retryAfter),
  );

/** The failure of calls during a pause that the endpoint asked for; `ms` are left. */
const leftAlone = (label: string, ms: number) =>
  new RpcUnavailableError(label, "rate limit", "asked for fewer requests and is paused", ms);

/** Codes and words of rate limits; -32005 is left out because it also means too many results. */
const isRateLimit = (code: number, message: string) =>
  code === 429 || code === -32029 || (!isOfContract(code, message) && RATE_LIMIT.test(message));

const RATE_LIMIT =
  /rate.?limit|too many requests|compute units per second|request limit|throughput/i;

/** The innermost code (`ECONNREFUSED`) or message of a failed connection. */
const causeOf = (error: Error): string => {
  let innermost: unknown = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  if (innermost === error || !(innermost instanceof Error)) return "the connection failed";
  return "code" in innermost && typeof innermost.code === "string"
    ? innermost.code
    : innermost.message;
};
