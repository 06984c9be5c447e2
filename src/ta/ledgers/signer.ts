/** Port for signers: configured keys, or a remote service (http-signer.ts). */
import { Ed25519Keypair } from "@mysten/sui/keypairs/ed25519";
import type { Hex, TransactionSerializable } from "viem";
import type { Remedy } from "../../waiting/remedy.ts";

/** Context for a signer's decision. */
export type SigningFor = { readonly asset: string; readonly requestId: string };

export type SuiSigner = {
  /** Canonical. */
  readonly address: string;
  /**
   * Signs BCS of `TransactionData`; returns base64 of flag, signature and public key.
   * @throws SigningNotAllowedError (stop), SigningError
   */
  sign(data: Uint8Array, about: SigningFor, signal: AbortSignal): Promise<string>;
};

export type EvmSigner = {
  /** Lower case. */
  readonly address: Hex;
  /**
   * Returns the serialised, signed transaction.
   * @throws SigningNotAllowedError (stop), SigningError
   */
  sign(transaction: TransactionSerializable, about: SigningFor, signal: AbortSignal): Promise<Hex>;
};

/** The signer refuses this transaction. */
export class SigningNotAllowedError extends Error {
  override readonly name = "SigningNotAllowedError";
  readonly remedy: Remedy = "stop";
}

/** The signer could not sign: `retry` when it may later. */
export class SigningError extends Error {
  override readonly name = "SigningError";
  readonly remedy: Remedy;

  constructor(message: string, remedy: "retry" | "stop", options?: ErrorOptions) {
    super(message, options);
    this.remedy = remedy;
  }
}

/**
 * @param secret Ed25519 key: `suiprivkey1…`, or base64 of the 32 bytes
 * @throws SigningError (stop) for an invalid key, without showing it
 */
export const suiKeySigner = (secret: string | Uint8Array): SuiSigner => {
  const keypair = keypairOf(secret);
  return {
    address: keypair.toSuiAddress(),
    sign: async (data) => (await keypair.signTransaction(data)).signature,
  };
};

const keypairOf = (secret: string | Uint8Array): Ed25519Keypair => {
  try {
    if (typeof secret !== "string") return Ed25519Keypair.fromSecretKey(secret);
    if (secret.startsWith("suiprivkey")) return Ed25519Keypair.fromSecretKey(secret);
    return Ed25519Keypair.fromSecretKey(Buffer.from(secret, "base64"));
  } catch {
    // The library's own message may hold the secret.
    throw new SigningError(
      "the Sui signing key must be suiprivkey1… of an Ed25519 key, or base64 of its 32 bytes",
      "stop",
    );
  }
};
