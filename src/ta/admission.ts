/** Letting requests in: the key first, then, where one is asked for, the signature. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { HttpError } from "../http/http-error.ts";
import type { RateLimit } from "../http/rate-limit.ts";
import { type Caller, requireReadSignature } from "./authenticate.ts";

/** Lets a caller in by his key. */
export type Admit = (request: FastifyRequest) => Promise<{
  readonly key: Caller;
  /** Rate-limit fields of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}>;

/** A header that must not stand twice. */
export const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
};

/**
 * Admits signed requests before their bodies are read: whoever has no good key, or sends no signature,
 * sends the body for nothing.
 */
export const admitted = (admit: Admit) => {
  const callers = new WeakMap<object, Caller>();
  return {
    onRequest: async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const { key, headers } = await admit(request);
      reply.headers(headers);
      if (headerOf(request, "x-request-sig-b64") === undefined) {
        throw new HttpError(401, "send the signature of the request in X-Request-Sig-B64");
      }
      callers.set(request, key);
    },
    callerOf: (request: FastifyRequest): Caller => {
      const caller = callers.get(request);
      if (caller === undefined) throw new Error("a handler ran without its onRequest hook");
      return caller;
    },
  };
};

/** Admits requests without a body whose method, path and time are signed. */
export const signedRead = (admit: Admit, attempts: RateLimit) => {
  const { onRequest, callerOf } = admitted(admit);
  const signed: typeof onRequest = async (request, reply) => {
    await onRequest(request, reply);
    countFailures(attempts, request.ip, () =>
      requireReadSignature(
        callerOf(request),
        {
          method: request.method,
          path: request.raw.url ?? "",
          timestamp: headerOf(request, "x-request-timestamp"),
          signature: headerOf(request, "x-request-sig-b64"),
        },
        Date.now(),
      ),
    );
  };
  return { onRequest: signed, callerOf };
};

/** Whoever sends wrong signatures is slowed down like whoever tries keys. */
export const countFailures = (attempts: RateLimit, address: string, check: () => void): void => {
  try {
    check();
  } catch (error) {
    const verdict = attempts.take(address);
    throw verdict.allowed ? error : attempts.refusal(verdict);
  }
};
