/** Worker thread of `startSigner`. */
import { parentPort } from "node:worker_threads";
import { blsSign } from "./wire/bls.ts";

parentPort?.on("message", ({ id, secret, message }: ToSign) => {
  parentPort?.postMessage({ id, signature: blsSign(secret, message) } satisfies Signed);
});

/** Ids match answers to requests. */
export type ToSign = { readonly id: number; readonly secret: bigint; readonly message: Uint8Array };
export type Signed = { readonly id: number; readonly signature: Uint8Array };
