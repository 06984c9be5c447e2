/** Keys that are none. */
import { expect, test } from "vitest";
import { generateKeyPair, KeyFormatError, publicKeyOf } from "../../client/ed25519.ts";
import { isSignatureOf } from "../../client/sum-tree.ts";
import { isSigned } from "../../src/audit/sequence/deployment-key.ts";

const P = 2n ** 255n - 19n;
/** y of the points of small order; 0 and 1 also in their other spelling. */
const SMALL = [
  0n,
  1n,
  P - 1n,
  P,
  P + 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d7a6a17c7n,
];
const encoded = (y: bigint): string =>
  Buffer.from(y.toString(16).padStart(64, "0"), "hex").reverse().toString("base64");

test("a key for which anyone can forge signatures is refused, by OpenSSL's callers and by the client", () => {
  const neutral = Buffer.from(encoded(1n), "base64");
  // The neutral point and the scalar 0: OpenSSL takes it for a signature of any text by the key that is the neutral point.
  const signature = Buffer.concat([neutral, Buffer.alloc(32)]).toString("base64");
  for (const y of SMALL) {
    for (const sign of [0n, 1n]) {
      const key = encoded(y + (sign << 255n));
      expect(() => publicKeyOf(key), key).toThrow(KeyFormatError);
      expect([
        isSigned(signature, "any text", key),
        isSignatureOf(signature, "any text", key),
      ]).toEqual([false, false]);
    }
  }
  for (let count = 0; count < 20; count += 1) publicKeyOf(generateKeyPair().publicKey);
});
