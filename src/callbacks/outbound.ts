/**
 * Outgoing requests, protected against SSRF: only https to known ports, and only to the addresses
 * that were resolved once and checked, which defeats DNS rebinding. Redirects and proxy settings are
 * ignored, the answer's headers are bounded by Node (16 KiB), its body is discarded.
 */
import { lookup as systemLookup } from "node:dns/promises";
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import {
  CallbackAddressError,
  checkCallbackUrl,
  type OutboundPolicy,
  ReceiverTimeoutError,
  ReceiverUnreachableError,
  refuseInward,
} from "./outbound-policy.ts";

/** Times in ms, sizes in bytes. */
export type OutboundLimits = {
  readonly connectMs: number;
  /** From the start to the headers of the answer, connecting included. */
  readonly answerMs: number;
  /** For the body after that, so that the connection can be reused. */
  readonly drainMs: number;
  readonly bodyBytes: number;
};

const LIMITS: OutboundLimits = {
  connectMs: 5_000,
  answerMs: 15_000,
  drainMs: 2_000,
  bodyBytes: 64 * 1024,
};

/** Idle connections are closed before the receiver would (usually after 5 s). */
const IDLE_MS = 4_000;

const SOCKETS_PER_RECEIVER = 64;

type OutboundAnswer = {
  readonly statusCode: number;
  /** The header, as sent. */
  readonly retryAfter: string | undefined;
};

/** Resolves a host name to addresses; throws with the codes of `node:dns` when it cannot. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

type OutboundRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal?: AbortSignal;
};

export type Outbound = ReturnType<typeof openOutbound>;

/** `ca` (PEM) trusts one more authority; `resolve` replaces the system's. */
export const openOutbound = (settings: {
  readonly policy: OutboundPolicy;
  readonly limits?: Partial<OutboundLimits>;
  readonly resolve?: Resolve;
  readonly ca?: string;
}) => {
  const { policy } = settings;
  const limits = { ...LIMITS, ...settings.limits };
  const options = {
    keepAlive: true,
    maxSockets: SOCKETS_PER_RECEIVER,
    timeout: IDLE_MS,
    lookup: guardedLookup(settings.resolve ?? resolveBySystem, policy),
  };
  const http = new HttpAgent(options);
  const https = new HttpsAgent({
    ...options,
    ...(settings.ca !== undefined && { ca: settings.ca }),
  });

  /**
   * Sends one POST.
   * @throws CallbackAddressError (stop) the address may not be called
   * @throws ReceiverTimeoutError | ReceiverUnreachableError (retry)
   * @throws the reason of `signal` when that aborts
   */
  const post = async (request: OutboundRequest): Promise<OutboundAnswer> => {
    const { url, headers, body, signal } = request;
    const target = checkCallbackUrl(url, policy);
    const init = { method: "POST", headers: { ...headers, "content-length": body.length } };
    const late = AbortSignal.timeout(limits.answerMs);
    const over = signal === undefined ? late : AbortSignal.any([signal, late]);
    const open = () =>
      target.protocol === "https:"
        ? httpsRequest(target, { ...init, agent: https })
        : httpRequest(target, { ...init, agent: http });
    const attempt = (request: ClientRequest) =>
      exchange(request, body, limits, over).catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error === late.reason ? new ReceiverTimeoutError("answer", limits.answerMs) : error;
      });
    const first = open();
    try {
      return await attempt(first);
    } catch (error) {
      // The receiver closed an idle connection as it was reused, and saw nothing of the request (Node
      // documentation, `request.reusedSocket`).
      const stale =
        error instanceof ReceiverUnreachableError && first.reusedSocket && wasClosed(error);
      if (!stale) throw error;
      return await attempt(open());
    }
  };
  /** Closes unused connections. */
  const close = () => {
    http.destroy();
    https.destroy();
  };
  return { policy, post, close };
};

const resolveBySystem: Resolve = async (hostname) =>
  (await systemLookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);

/** The lookup of `net.connect`: it connects only to the addresses checked here. */
const guardedLookup =
  (resolve: Resolve, policy: OutboundPolicy): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname)
      .then((addresses) => {
        refuseInward(addresses, policy);
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        if (options.all) callback(null, found);
        else callback(null, found[0]?.address ?? "", found[0]?.family);
      })
      .catch((error: NodeJS.ErrnoException) => callback(error, ""));
  };

/**
 * @param over ends the wait for the answer. Node's `signal` of a request would not end one that waits
 *   for a free connection, and would cut off the drain.
 */
const exchange = (
  request: ClientRequest,
  body: Uint8Array,
  limits: OutboundLimits,
  over: AbortSignal,
): Promise<OutboundAnswer> =>
  new Promise((resolve, reject) => {
    let answered = false;
    let connectTimer: NodeJS.Timeout | undefined;
    const aborted = () => fail(over.reason);
    const settle = () => {
      clearTimeout(connectTimer);
      over.removeEventListener("abort", aborted);
    };
    const fail = (error: unknown) => {
      if (answered) return;
      settle();
      request.destroy();
      reject(error);
    };
    request.once("socket", (socket) => {
      if (!socket.connecting) return;
      const ready = "encrypted" in socket ? "secureConnect" : "connect";
      connectTimer = setTimeout(
        () => fail(new ReceiverTimeoutError("connect", limits.connectMs)),
        limits.connectMs,
      );
      socket.once(ready, () => clearTimeout(connectTimer));
    });
    request.once("response", (response) => {
      settle();
      answered = true;
      drain(response, limits);
      const { "retry-after": retryAfter } = response.headers;
      resolve({ statusCode: response.statusCode ?? 0, retryAfter });
    });
    // Stays attached: an error after the answer must not become an uncaught one.
    request.on("error", (error) =>
      fail(error instanceof CallbackAddressError ? error : new ReceiverUnreachableError(error)),
    );
    // A connection that ends without an answer and without an error, such as after 101.
    request.once("close", () => {
      const closed = Object.assign(new Error("no answer"), { code: "ECONNRESET" });
      fail(new ReceiverUnreachableError(closed));
    });
    if (over.aborted) return aborted();
    over.addEventListener("abort", aborted);
    request.end(body);
  });

/** Discards the body, within bounds, so that the connection can be reused. */
const drain = (response: IncomingMessage, limits: OutboundLimits): void => {
  let bytes = 0;
  const late = setTimeout(() => response.destroy(), limits.drainMs);
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limits.bodyBytes) response.destroy();
  });
  response.on("error", () => undefined);
  response.once("close", () => clearTimeout(late));
};

const wasClosed = ({ cause }: ReceiverUnreachableError): boolean =>
  cause instanceof Error &&
  "code" in cause &&
  (cause.code === "ECONNRESET" || cause.code === "EPIPE");
