/** The headers that let a receiver know who sent a callback, when, and that it is unchanged. */
import { signBytes } from "../../client/ed25519.ts";
import type { SigningKeyRing } from "./signing-keys.ts";

/**
 * Headers of one delivery: those of Standard Webhooks (asymmetric, `v1a`) with a signature of every
 * valid key, newest first, and `x-request-sig-b64` by the newest over the body, which is sent in its
 * canonical form.
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
