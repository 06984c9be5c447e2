import { bls12_381 } from "@noble/curves/bls12-381.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { loadBls } from "../../../src/ledger/proof/bls.ts";

/** The reference: another implementation, written for nothing but to be right. */
const reference = bls12_381.shortSignatures;
const TAG = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";

const bls = await loadBls();

const keyPair = () => {
  const { secretKey, publicKey } = reference.keygen();
  return { secretKey, publicKey: publicKey.toBytes(true) };
};

const sign = (message: Uint8Array, secretKeys: readonly Uint8Array[]): Uint8Array => {
  const hashed = reference.hash(message, TAG);
  const signatures = secretKeys.map((key) => reference.sign(hashed, key));
  return reference.aggregateSignatures(signatures).toBytes(true);
};

/** Both answers; a refusal to parse is a no. */
const verdicts = (
  signature: Uint8Array,
  message: Uint8Array,
  publicKeys: readonly Uint8Array[],
): readonly [boolean, boolean] => {
  const keys = publicKeys.map((key) => bls.publicKey(key));
  const ours = keys.every((key) => key !== null) && bls.verify(signature, message, keys);
  try {
    const together = reference.aggregatePublicKeys([...publicKeys]);
    return [ours, reference.verify(signature, reference.hash(message, TAG), together)];
  } catch {
    return [ours, false];
  }
};

test("agrees with the reference on right and wrong keys, messages and signatures", () => {
  const pairs = Array.from({ length: 3 }, keyPair);
  const message = fc.uint8Array({ maxLength: 300 });
  const some = fc.subarray(pairs, { minLength: 1 });
  fc.assert(
    fc.property(message, message, some, some, (signed, shown, signers, named) => {
      const signature = sign(
        signed,
        signers.map(({ secretKey }) => secretKey),
      );
      const publicKeys = named.map(({ publicKey }) => publicKey);
      const same = Buffer.compare(signed, shown) === 0 && `${signers}` === `${named}`;
      const right =
        same && signers.length === named.length && signers.every((one, i) => one === named[i]);
      expect(verdicts(signature, shown, publicKeys)).toEqual([right, right]);
      const own = signers.map(({ publicKey }) => publicKey);
      expect(verdicts(signature, signed, own)).toEqual([true, true]);
    }),
    { numRuns: 6 },
  );
});

const { Point: G1 } = bls12_381.G1;
const { Point: G2 } = bls12_381.G2;
const { Fp, Fp2 } = bls12_381.fields;

/** Whether a field has a square root of what this gives. */
const isSquare = (root: () => unknown): boolean => {
  try {
    root();
    return true;
  } catch {
    return false;
  }
};

/** The first small x that has a point on the curve. Of those hardly any lies in the group. */
const smallX = (hasPoint: (x: bigint) => boolean): number => {
  const x = Array.from({ length: 100 }, (_, i) => i + 1).find((one) => hasPoint(BigInt(one)));
  if (x === undefined) throw new Error("no point found");
  return x;
};

/** Points on the curves y² = x³ + 4 and y² = x³ + 4(1 + i), outside the groups. */
const outsideG1 = (): Uint8Array => {
  const x = smallX((one) => isSquare(() => Fp.sqrt(Fp.create(one ** 3n + 4n))));
  return new Uint8Array(48).with(0, 0x80).with(47, x);
};
const outsideG2 = (): Uint8Array => {
  const x = smallX((one) => isSquare(() => Fp2.sqrt(Fp2.create({ c0: one ** 3n + 4n, c1: 4n }))));
  return new Uint8Array(96).with(0, 0x80).with(95, x);
};

const infinity = (size: number): Uint8Array => {
  const bytes = new Uint8Array(size);
  bytes[0] = 0xc0;
  return bytes;
};

test("points outside the groups lie on the curves, where only the group is asked for", () => {
  expect(() => G1.fromBytes(outsideG1())).toThrow("subgroup");
  expect(() => G2.fromBytes(outsideG2())).toThrow("subgroup");
});

test("refuses infinity, points outside the group and other encodings, like the reference", () => {
  const { secretKey, publicKey } = keyPair();
  const message = Buffer.from("summary");
  const signature = sign(message, [secretKey]);
  expect(verdicts(signature, message, [publicKey])).toEqual([true, true]);

  const uncompressed = G1.fromBytes(signature).toBytes(false);
  const beyondField = Uint8Array.from(signature, (_, i) => (i === 0 ? 0x9f : 0xff));
  const otherSign = signature.with(0, (signature[0] ?? 0) ^ 0x20);
  for (const wrong of [
    infinity(48),
    infinity(48).with(47, 1),
    outsideG1(),
    uncompressed,
    beyondField,
    otherSign,
    signature.subarray(0, 47),
    Uint8Array.of(...signature, 0),
    new Uint8Array(),
  ]) {
    expect(verdicts(wrong, message, [publicKey])).toEqual([false, false]);
  }
  for (const wrong of [infinity(96), outsideG2(), new Uint8Array(96), publicKey.subarray(1)]) {
    expect(bls.publicKey(wrong)).toBeNull();
  }
});

test("a valid signature found valid again makes no other message, signers or signature valid", () => {
  const pairs = Array.from({ length: 2 }, keyPair);
  const [one, other] = pairs.map(({ publicKey }) => publicKey);
  if (one === undefined || other === undefined) throw new Error("there are two keys");
  const message = Buffer.from("summary of a checkpoint");
  const signature = sign(
    message,
    pairs.map(({ secretKey }) => secretKey),
  );
  for (const _ of ["at first", "again"]) {
    expect(verdicts(signature, message, [one, other])).toEqual([true, true]);
    expect(verdicts(signature, message, [other, one])).toEqual([true, true]);
    for (const signers of [[one], [other], [one, one], [one, other, one]]) {
      expect(verdicts(signature, message, signers)).toEqual([false, false]);
    }
    const cut = message.subarray(1);
    for (const shown of [cut, Buffer.concat([other, message]), Buffer.concat([message, cut])]) {
      expect(verdicts(signature, shown, [one, other])).toEqual([false, false]);
      expect(verdicts(signature, shown, [one])).toEqual([false, false]);
    }
    const longer = Uint8Array.of(...signature, message[0] ?? 0);
    expect(verdicts(longer, cut, [one, other])).toEqual([false, false]);
    const another = sign(
      cut,
      pairs.map(({ secretKey }) => secretKey),
    );
    expect(verdicts(another, message, [one, other])).toEqual([false, false]);
  }
});

test("any signers of a committee are summed right, in any order, time and again", () => {
  const pairs = Array.from({ length: 17 }, keyPair);
  const message = Buffer.from("summary of a checkpoint");
  const parsed = pairs.map(({ publicKey }) => bls.publicKey(publicKey));
  fc.assert(
    fc.property(fc.shuffledSubarray(pairs, { minLength: 1 }), (signers) => {
      const secretKeys = signers.map(({ secretKey }) => secretKey);
      const signature = sign(message, secretKeys);
      const keys = signers.flatMap((signer) => parsed[pairs.indexOf(signer)] ?? []);
      const [first] = keys;
      expect(bls.verify(signature, message, keys)).toBe(true);
      expect(bls.verify(signature, message, keys.slice(1))).toBe(false);
      expect(bls.verify(signature, message, first ? [...keys, first] : [])).toBe(false);
    }),
    { numRuns: 25 },
  );
});

test("refuses keys that cancel each other out", () => {
  const { publicKey } = keyPair();
  const opposite = G2.fromBytes(publicKey).negate().toBytes(true);
  expect(verdicts(infinity(48), Buffer.from("anything"), [publicKey, opposite])).toEqual([
    false,
    false,
  ]);
  expect(bls.verify(new Uint8Array(48), Buffer.from("anything"), [])).toBe(false);
});
