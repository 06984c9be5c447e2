/**
 * Lets requests in: the key first, then the signature where a route demands one.
 *
 * A key of this interface is public. So only requests that its owner signed count for the key; any other
 * request counts for the key at the address it came from, and cannot use up the owner's limit.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Gate, GateSettings } from "../../http/edge/gate.ts";
import type { BodyRoom } from "./body-room.ts";
import type { Caller } from "./caller.ts";
import { type Pace, readBody } from "./read-body.ts";
import {
  requireBodyForm,
  requireBodySignature,
  requireReadSignature,
  requireSignatureForm,
  type SignedHead,
} from "./signatures.ts";
import { headerOf, parseSignedBody, requirePlainBody, type SignedBody } from "./signed-body.ts";

/** A hook that runs before anything of the body is read. */
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export type Admission = {
  /** Lets a request in by its key alone. @throws HttpError 401, 403, 429 */
  readonly byKey: Hook;
  /** Lets a request in whose method, path and time are signed. @throws HttpError 401, 403, 429 */
  readonly signedRead: Hook;
  /**
   * Lets the body of a request come. Without a good key and a signature of a form that the key takes, no
   * body is read. @throws HttpError 401, 403, 415, 429
   */
  readonly beforeBody: Hook;
  /** The caller of a request that one of the hooks let in. */
  callerOf(request: FastifyRequest): Caller;
  /**
   * Reads the body of a request that `beforeBody` let come, and checks its signature.
   * @throws StrictJsonError (400), HttpError 401, 408, 413, 429, 503
   */
  signedBody(request: FastifyRequest, reply: FastifyReply): Promise<AdmittedBody>;
};

export type AdmittedBody = SignedBody & {
  /** What a bound signature covers; undefined where the body alone is signed. */
  readonly bound: Uint8Array | undefined;
};

export type AdmissionSettings = {
  readonly gate: Pick<Gate<Caller>, "identify">;
  /** `limit` of a key; `attempts` of an address without a good key or without a good signature. */
  readonly limits: Pick<GateSettings<Caller>, "limit" | "attempts">;
  readonly room: BodyRoom;
  readonly pace: Pace;
};

export const admission = ({ gate, limits, room, pace }: AdmissionSettings): Admission => {
  const { limit, attempts } = limits;
  const callers = new WeakMap<object, Caller>();

  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request);
    if (caller === undefined) throw new Error("a handler ran without its onRequest hook");
    return caller;
  };

  const identified = (request: FastifyRequest): Promise<Caller> =>
    gate.identify({
      presented: headerOf(request, "x-api-key"),
      remoteAddress: request.ip,
    });

  const count = (who: string, reply: FastifyReply) => {
    const verdict = limit.take(who);
    if (!verdict.allowed) throw limit.refusal(verdict);
    reply.headers(limit.headers(verdict));
  };

  /** A bad signature counts as an attempt, like a bad key; a good one never does. */
  const checked = <T>(request: FastifyRequest, caller: Caller, check: () => T): T => {
    try {
      return check();
    } catch (error) {
      const verdict = attempts.take(unproven(request, caller));
      throw verdict.allowed ? error : attempts.refusal(verdict);
    }
  };

  const beforeSignature: Hook = async (request) => {
    const caller = await identified(request);
    checked(request, caller, () => requireSignatureForm(signatureOf(request)));
    const verdict = limit.peek(caller.id);
    if (!verdict.allowed) throw limit.refusal(verdict);
    callers.set(request, caller);
  };

  return {
    callerOf,
    byKey: async (request, reply) => {
      const caller = await identified(request);
      count(unproven(request, caller), reply);
      callers.set(request, caller);
    },
    signedRead: async (request, reply) => {
      await beforeSignature(request, reply);
      const caller = callerOf(request);
      checked(request, caller, () => requireReadSignature(caller, headOf(request), Date.now()));
      count(caller.id, reply);
    },
    beforeBody: async (request, reply) => {
      await beforeSignature(request, reply);
      const caller = callerOf(request);
      checked(request, caller, () => requireBodyForm(caller, headOf(request), Date.now()));
      requirePlainBody(request);
    },
    signedBody: async (request, reply) => {
      const caller = callerOf(request);
      const place = room({ address: request.ip, keyId: caller.id });
      reply.raw.once("close", place.leave);
      const bytes = await readBody(request.raw, {
        announced: headerOf(request, "content-length"),
        mostBytes: request.routeOptions.bodyLimit,
        pace,
        grow: place.grow,
      });
      const body = checked(request, caller, () => {
        const parsed = parseSignedBody(bytes);
        return { ...parsed, bound: requireBodySignature(caller, headOf(request), parsed) };
      });
      count(caller.id, reply);
      return body;
    },
  };
};

const signatureOf = (request: FastifyRequest) => headerOf(request, "x-request-sig-b64");

const headOf = (request: FastifyRequest): SignedHead => ({
  method: request.method,
  path: request.raw.url ?? "",
  timestamp: headerOf(request, "x-request-timestamp"),
  idempotencyKey: headerOf(request, "idempotency-key"),
  signature: signatureOf(request),
});

/** Name to count under for an address that shows a key without proving to own it. */
const unproven = ({ ip }: FastifyRequest, { id }: Caller): string => `${id} at ${ip}`;
