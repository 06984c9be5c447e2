/**
 * Admits callers: first the key, then the signature where a route requires one. Keys are public, so
 * only signed requests count for a key; others count for the key at their address, and cannot use
 * up the owner's limit.
 */
import { headerParameter } from "../../http/describe.ts";
import type { Gate, GateSettings } from "../../http/edge/gate.ts";
import type { RequestBody, Visit, Who } from "../../http/route.ts";
import { headerOf } from "../../http/who.ts";
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
import { parseSignedBody, requirePlainBody, type SignedBody } from "./signed-body.ts";

export type Callers = {
  /** By the key alone. @throws HttpError 401, 403, 429 */
  readonly byKey: Who<Caller>;
  /** By a signature over method, path and time. @throws HttpError 401, 403, 429 */
  readonly signed: Who<Caller>;
  /**
   * By a signature that covers the body, which `signedBody` reads. No body is read without a valid
   * key and an acceptable form of signature. @throws HttpError 401, 403, 415, 429
   */
  readonly withBody: Who<Caller>;
  /**
   * Reads a body and checks its signature.
   * @throws StrictJsonError (400), HttpError 401, 408, 413, 429, 503
   */
  signedBody(
    limitBytes: number,
    described: Pick<RequestBody<Caller, AdmittedBody>, "schemas"> & { readonly schema: object },
  ): RequestBody<Caller, AdmittedBody>;
};

type AdmittedBody = SignedBody & {
  /** The content of a bound signature; undefined where only the body is signed. */
  readonly bound: Uint8Array | undefined;
};

type CallersSettings = {
  readonly gate: Pick<Gate<Caller>, "identify">;
  /** `limit` per key; `attempts` per address without a valid key or signature. */
  readonly limits: Pick<GateSettings<Caller>, "limit" | "attempts">;
  readonly room: BodyRoom;
  readonly pace: Pace;
};

export const createCallers = ({ gate, limits, room, pace }: CallersSettings): Callers => {
  const { limit, attempts } = limits;

  const identified = ({ raw, remoteAddress }: Visit): Promise<Caller> =>
    gate.identify({ presented: headerOf(raw, "x-api-key"), remoteAddress });

  const count = (who: string, visit: Visit) => {
    const verdict = limit.take(who);
    if (!verdict.allowed) throw limit.refusal(verdict);
    visit.addFields(limit.headers(verdict));
  };

  /** A bad signature counts as an attempt, like a bad key; a valid one never does. */
  const checked = <T>(visit: Visit, caller: Caller, check: () => T): T => {
    try {
      return check();
    } catch (error) {
      const verdict = attempts.take(unproven(visit, caller));
      throw verdict.allowed ? error : attempts.refusal(verdict);
    }
  };

  const beforeSignature = async (visit: Visit): Promise<Caller> => {
    const caller = await identified(visit);
    checked(visit, caller, () => requireSignatureForm(headOf(visit).signature));
    const verdict = limit.peek(caller.id);
    if (!verdict.allowed) throw limit.refusal(verdict);
    return caller;
  };

  return {
    byKey: {
      enter: async (visit) => {
        const caller = await identified(visit);
        count(unproven(visit, caller), visit);
        return caller;
      },
      described: { schemes: KEY, refusals: [401, 403, 429] },
    },
    signed: {
      enter: async (visit) => {
        const caller = await beforeSignature(visit);
        checked(visit, caller, () => requireReadSignature(caller, headOf(visit), Date.now()));
        count(caller.id, visit);
        return caller;
      },
      described: {
        schemes: SIGNED,
        headers: [headerParameter(TIMESTAMP, "Unix seconds, within 300 s of now.", true)],
        refusals: [401, 403, 429],
      },
    },
    withBody: {
      enter: async (visit) => {
        const caller = await beforeSignature(visit);
        checked(visit, caller, () => requireBodyForm(caller, headOf(visit), Date.now()));
        requirePlainBody(visit.raw);
        return caller;
      },
      described: {
        schemes: SIGNED,
        headers: [
          headerParameter(
            TIMESTAMP,
            "Unix seconds, within 300 s of now: the signature is bound to method, path, time, Idempotency-Key and body. Without it the signature is over the body alone, which a key made with --require-bound refuses.",
          ),
        ],
        refusals: [401, 403, 408, 413, 415, 422, 429],
      },
    },
    signedBody: (limitBytes, { schema, schemas = {} }) => ({
      limitBytes,
      described: { required: true, schema },
      schemas,
      read: async (visit, caller) => {
        const place = room({ address: visit.remoteAddress, keyId: caller.id });
        visit.response.once("close", place.leave);
        const bytes = await readBody(visit.raw, {
          announced: headerOf(visit.raw, "content-length"),
          mostBytes: limitBytes,
          pace,
          grow: place.grow,
        });
        const body = checked(visit, caller, () => {
          const parsed = parseSignedBody(bytes);
          return { ...parsed, bound: requireBodySignature(caller, headOf(visit), parsed) };
        });
        count(caller.id, visit);
        return body;
      },
    }),
  };
};

const TIMESTAMP = "X-Request-Timestamp";

const KEY = {
  taKey: {
    type: "apiKey",
    in: "header",
    name: "X-Api-Key",
    description: "The caller's Ed25519 public key, base64 of 32 bytes.",
  },
};

const SIGNED = {
  ...KEY,
  taSignature: {
    type: "apiKey",
    in: "header",
    name: "X-Request-Sig-B64",
    description:
      'Base64 Ed25519 signature over the RFC 8785 canonical form of {"method","path","timestamp","idempotencyKey","bodySha256"} for a POST with X-Request-Timestamp: path with its query, idempotencyKey null without one, bodySha256 in lower-case hex over the canonical form of the body. Of the body itself for a POST without; of {"method","path","timestamp"} where there is no body.',
  },
};

const headOf = ({ raw }: Visit): SignedHead => ({
  method: raw.method ?? "",
  path: raw.url ?? "",
  timestamp: headerOf(raw, "x-request-timestamp"),
  idempotencyKey: headerOf(raw, "idempotency-key"),
  signature: headerOf(raw, "x-request-sig-b64"),
});

/** Rate-limit name of a key that was not proven, at its address. */
const unproven = ({ remoteAddress }: Visit, { id }: Caller): string => `${id} at ${remoteAddress}`;
