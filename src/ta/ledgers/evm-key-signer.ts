import { privateKeyToAccount } from "viem/accounts";
import { type EvmSigner, SigningError } from "./signer.ts";

/**
 * @param secret secp256k1 key: 0x and 64 hex digits
 * @throws SigningError (stop) for an invalid key, without showing it
 */
export const evmKeySigner = (secret: string): EvmSigner => {
  const digits = /^0x([0-9a-fA-F]{64})$/.exec(secret)?.[1];
  if (digits === undefined) {
    throw new SigningError("the EVM signing key must be 0x and 64 hex digits", "stop");
  }
  const account = privateKeyToAccount(`0x${digits}`);
  return {
    address: `0x${account.address.slice(2).toLowerCase()}`,
    sign: (transaction) => account.signTransaction(transaction),
  };
};
