/** The public keys that callbacks are signed with, as every interface that sends callbacks shows them. */
import { z } from "zod";

/** Where the keys are read by GET, and what the description calls that. */
export const CALLBACK_KEYS = {
  path: "/api/v1/callback_pk",
  operationId: "callbackKeys",
  summary: "Public keys that callbacks are signed with",
  about: "public keys that callbacks are signed with",
} as const;

const time = z.iso.datetime();

export const callbackKeysAnswer = z.object({
  publicKey: z.string().describe("The key that signs now; base64 of 32 bytes."),
  algorithm: z.literal("ed25519"),
  keys: z.array(
    z.object({
      keyId: z.string(),
      publicKey: z.string(),
      notBefore: time,
      notAfter: time.nullable(),
    }),
  ),
});
