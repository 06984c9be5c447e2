/** One attempt to deliver one callback. */
import { signBytes } from "../../client/ed25519.ts";
import { VERSION } from "../telemetry/version.ts";
import { retryAfterMs } from "../waiting/retry-after.ts";
import type { Outbound } from "./outbound.ts";
import {
  CallbackAddressError,
  ReceiverTimeoutError,
  ReceiverUnreachableError,
} from "./outbound-policy.ts";
import type { SigningKeyRing, SigningKeys } from "./signing-keys.ts";

/** As recorded and shown to the owner of the address. */
export type Attempt = {
  readonly at: Date;
  /** Where it went. */
  readonly url: string;
  /** Null without an answer. */
  readonly statusCode: number | null;
  /** Why it failed, without resolved addresses; null when it succeeded. */
  readonly error: string | null;
  readonly durationMs: number;
  /** `Retry-After` of the receiver. */
  readonly retryAfterMs: number | undefined;
};

export const isDelivered = ({ error }: Attempt): boolean => error === null;

/** The receiver wants nothing more at this address (410). */
export const isGone = ({ statusCode }: Attempt): boolean => statusCode === 410;

/**
 * Posts the message. Every outcome at the receiver becomes an attempt.
 * @throws the reason of `signal` when that aborts: the outcome is unknown, record nothing
 * @throws errors of our side, such as SealedError
 */
export const deliver = async (
  parts: { readonly outbound: Outbound; readonly signingKeys: SigningKeys },
  message: { readonly id: string; readonly body: string; readonly url: string },
  signal?: AbortSignal,
): Promise<Attempt> => {
  const at = new Date();
  const keys = await parts.signingKeys.current(at);
  const headers = {
    "content-type": "application/json",
    "user-agent": `Holderbook/${VERSION}`,
    ...signatureHeaders(keys, message, at),
  };
  const started = performance.now();
  const attempt = (rest: Pick<Attempt, "statusCode" | "error" | "retryAfterMs">): Attempt => ({
    at,
    url: message.url,
    durationMs: Math.round(performance.now() - started),
    ...rest,
  });
  try {
    const { statusCode, retryAfter } = await parts.outbound.post({
      url: message.url,
      headers,
      body: Buffer.from(message.body),
      ...(signal && { signal }),
    });
    return attempt({
      statusCode,
      error: faultOf(statusCode),
      retryAfterMs: retryAfterMs(retryAfter),
    });
  } catch (error) {
    if (!isReceivers(error)) throw error;
    return attempt({ statusCode: null, error: error.message, retryAfterMs: undefined });
  }
};

const faultOf = (statusCode: number): string | null => {
  if (statusCode >= 200 && statusCode < 300) return null;
  if (statusCode >= 300 && statusCode < 400)
    return `answered ${statusCode}; redirects are not followed`;
  if (statusCode === 410) return "answered 410; the address is disabled";
  return `answered ${statusCode}`;
};

const isReceivers = (error: unknown): error is Error =>
  error instanceof CallbackAddressError ||
  error instanceof ReceiverTimeoutError ||
  error instanceof ReceiverUnreachableError;

/**
 * Headers of Standard Webhooks (asymmetric, `v1a`) with a signature by every valid key, newest first,
 * and `x-request-sig-b64` by the newest over the canonical body.
 */
export const signatureHeaders = (
  keys: SigningKeyRing,
  message: { readonly id: string; readonly body: string },
  at: Date,
): Readonly<Record<string, string>> => {
  const timestamp = Math.floor(at.getTime() / 1_000).toString();
  const signed = Buffer.from(`${message.id}.${timestamp}.${message.body}`);
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": keys.map((key) => `v1a,${signBytes(signed, key)}`).join(" "),
    "x-request-sig-b64": signBytes(Buffer.from(message.body), keys[0]),
  };
};
