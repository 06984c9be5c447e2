/**
 * One JSON-RPC endpoint over viem's HTTP client: batched calls whose size adapts to what the endpoint
 * takes, and every failure as a named error. No retries here: see `rpc.ts`.
 */
import { HttpRequestError, ResponseBodyTooLargeError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { LyingRpcError, RpcRefusedError, RpcUnavailableError } from "./errors.ts";
import { isObject } from "./replies.ts";

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] };

/** What an endpoint made of one call. */
export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcRefusedError };

/**
 * The result of a call; undefined for none.
 * @throws RpcRefusedError (retry) when it was refused
 */
export const resultOf = (outcome: Outcome | undefined): unknown => {
  if (outcome?.ok === false) throw outcome.error;
  return outcome?.result;
};

export type Endpoint = {
  /** Scheme and host: without path or credentials, which may hold keys. */
  readonly label: string;
  /**
   * Results of the calls, in their order, whatever order they were answered in.
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

export type EndpointSettings = {
  /** For one HTTP request. */
  readonly timeoutMs: number;
  /** Calls in one HTTP request at most; halved for good when the endpoint refuses as many. */
  readonly batchCalls: number;
  /** HTTP requests under way at once for one batch. */
  readonly parallel: number;
  /** Longest answer read into memory, bytes. */
  readonly maxResponseBytes: number;
};

/** What public providers take without complaint; a full Ethereum block is about 0.5 MB. */
export const endpointDefaults: EndpointSettings = {
  timeoutMs: 20_000,
  batchCalls: 100,
  parallel: 4,
  maxResponseBytes: 64 * 1024 * 1024,
};

/**
 * Names of endpoints, in their order: scheme and host, because the rest of a URL may hold keys. Several
 * at one host are numbered.
 */
export const labelsOf = (urls: readonly string[]): readonly string[] => {
  const hosts = urls.map((url) => {
    const { protocol, host } = new URL(url);
    return `${protocol}//${host}`;
  });
  return hosts.map((host, i) => {
    const before = hosts.slice(0, i).filter((each) => each === host).length;
    return before === 0 ? host : `${host} (${before + 1})`;
  });
};

/**
 * @param url http or https; credentials in it are sent as basic authentication
 * @param label as of `labelsOf`
 */
export const openEndpoint = (url: string, label: string, settings: EndpointSettings): Endpoint => {
  const hide = keysHidden(url);
  const client = getHttpRpcClient(url, {
    timeout: 0,
    maxResponseBodySize: settings.maxResponseBytes,
  });
  let size = settings.batchCalls;
  let nextId = 1;

  /** One HTTP request: a plain call, or an array of several. */
  const post = async (calls: readonly RpcCall[], signal: AbortSignal) => {
    const timeout = AbortSignal.timeout(settings.timeoutMs);
    const body = calls.map(({ method, params }) => ({ id: nextId++, method, params: [...params] }));
    const [single] = body;
    const answered: { status?: number; retryAfter?: string | null } = {};
    let reply: unknown;
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
      throw timeout.aborted
        ? new RpcUnavailableError(label, "timeout", `no answer within ${settings.timeoutMs} ms`)
        : unavailable(label, error, answered);
    }
    if (answered.status === 429) throw rateLimited(label, answered.retryAfter);
    return { reply, ids: body.map(({ id }) => id) };
  };

  const ask = async (
    calls: readonly RpcCall[],
    signal: AbortSignal,
  ): Promise<readonly Outcome[]> => {
    try {
      const { reply, ids } = await post(calls, signal);
      if (calls.length === 1) return [outcomeOf(label, calls[0], reply, hide)];
      if (Array.isArray(reply)) {
        const byId = new Map(reply.filter(isObject).map((each) => [each.id, each]));
        // By id: servers may answer in any order.
        return calls.map((call, i) => outcomeOf(label, call, byId.get(ids[i]), hide));
      }
      // One answer for the whole batch: refused as such, most often for its size.
      size = Math.max(1, Math.min(size, Math.floor(calls.length / 2)));
    } catch (error) {
      const splits =
        error instanceof RpcUnavailableError &&
        (error.reason === "too large" || error.reason === "timeout");
      if (!splits || calls.length === 1) throw error;
    }
    const half = Math.ceil(calls.length / 2);
    return [
      ...(await ask(calls.slice(0, half), signal)),
      ...(await ask(calls.slice(half), signal)),
    ];
  };

  const outcomes = async (
    calls: readonly RpcCall[],
    signal: AbortSignal,
    most = settings.batchCalls,
  ) => {
    const answers: Outcome[] = new Array(calls.length);
    let next = 0;
    const worker = async () => {
      while (next < calls.length) {
        const start = next;
        next += Math.min(size, most);
        const part = await ask(calls.slice(start, next), signal);
        part.forEach((outcome, i) => {
          answers[start + i] = outcome;
        });
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

/** Takes what of a URL may be a key out of a text: some providers quote it in their errors. */
const keysHidden = (url: string): ((text: string) => string) => {
  const { username, password, pathname, searchParams } = new URL(url);
  const keys = [username, password, ...pathname.split("/"), ...searchParams.values()].filter(
    ({ length }) => length >= SHORTEST_KEY,
  );
  return (text) => keys.reduce((hidden, key) => hidden.replaceAll(key, "…"), text);
};

/** Shorter parts of a path are words, such as `v2` or `mainnet`. */
const SHORTEST_KEY = 8;

const outcomeOf = (
  label: string,
  call: RpcCall | undefined,
  reply: unknown,
  hide: (text: string) => string,
): Outcome => {
  const method = call?.method ?? "a call";
  if (!isObject(reply)) {
    throw new LyingRpcError(label, "malformed reply", `${method} was not answered`);
  }
  const { error } = reply;
  if (isObject(error)) {
    const code = typeof error.code === "number" ? error.code : 0;
    const message = typeof error.message === "string" ? hide(error.message) : "without a message";
    if (isRateLimit(code, message)) throw rateLimited(label, null, message);
    return { ok: false, error: new RpcRefusedError(label, method, code, message) };
  }
  if (!("result" in reply)) {
    throw new LyingRpcError(label, "malformed reply", `${method} has neither result nor error`);
  }
  return { ok: true, result: reply.result };
};

/** Codes and words by which providers refuse for now; -32005 is also used for too many results. */
const isRateLimit = (code: number, message: string) =>
  code === 429 ||
  code === -32029 ||
  /rate.?limit|too many requests|compute units per second|request limit|throughput/i.test(message);

const rateLimited = (label: string, retryAfter: string | null | undefined, why = "HTTP 429") =>
  new RpcUnavailableError(
    label,
    "rate limit",
    `asks for fewer requests (${why.slice(0, 200)})`,
    delayOf(retryAfter),
  );

/** `Retry-After`: seconds or a date (RFC 9110, section 10.2.3), in milliseconds from now. */
const delayOf = (retryAfter: string | null | undefined): number | undefined => {
  if (!retryAfter) return undefined;
  const seconds = Number(retryAfter);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined;
};

/** The client's error without what it quotes: the URL, which may hold a key, and the request. */
const unavailable = (
  label: string,
  error: unknown,
  answered: { readonly status?: number; readonly retryAfter?: string | null },
): RpcUnavailableError => {
  const { status } = answered;
  if (status === 429) return rateLimited(label, answered.retryAfter);
  if (error instanceof ResponseBodyTooLargeError || status === 413) {
    return new RpcUnavailableError(label, "too large", "the answer is larger than is taken");
  }
  const retryAfter = delayOf(answered.retryAfter);
  if (status === 408 || status === 504 || status === 524) {
    return new RpcUnavailableError(label, "timeout", `HTTP ${status}`, retryAfter);
  }
  if (status !== undefined && (status < 200 || status >= 300)) {
    const reason = status === 401 || status === 403 ? "failure" : "status";
    return new RpcUnavailableError(label, reason, `HTTP ${status}`, retryAfter);
  }
  const details = error instanceof HttpRequestError ? causeOf(error) : "the answer is not JSON";
  return new RpcUnavailableError(label, "failure", details, retryAfter);
};

/** The innermost code (`ECONNREFUSED`) or message of a failed connection. */
const causeOf = (error: Error): string => {
  let innermost: unknown = error;
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause;
  if (innermost === error || !(innermost instanceof Error)) return "the connection failed";
  return "code" in innermost && typeof innermost.code === "string"
    ? innermost.code
    : innermost.message;
};
