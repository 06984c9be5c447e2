/** The digest of a checkpoint's summary, computed in this browser. */
import { loadSignatures } from "./check/client.ts";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** @param summary its BCS, base64 @returns base58, as the ledger shows digests */
export const summaryDigest = async (summary: string): Promise<string> => {
  const { blake2b } = await loadSignatures();
  const hashing = blake2b.create({ dkLen: 32 });
  // The ledger hashes every value after the name of its type.
  hashing.update(new TextEncoder().encode("CheckpointSummary::"));
  hashing.update(Uint8Array.from(atob(summary), (char) => char.charCodeAt(0)));
  return base58(hashing.digest());
};

const base58 = (bytes: Uint8Array): string => {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = "";
  for (; number > 0n; number /= 58n) text = ALPHABET.charAt(Number(number % 58n)) + text;
  const zeroes = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeroes === -1 ? bytes.length : zeroes) + text;
};
