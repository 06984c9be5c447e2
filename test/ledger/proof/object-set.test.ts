import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bcs } from "@mysten/sui/bcs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { ExcerptError } from "../../../client/bcs.ts";
import { assertLeft, type Reference } from "../../../client/object-set.ts";
import { walkBack } from "../../../src/audit/complete/object-walk.ts";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../../src/ledger/decode/cursor.ts";
import { decodeCheckpoint } from "../../../src/ledger/decode/decode.ts";
import { refusing } from "../../../src/ledger/decode/verify.ts";
import { readFound } from "../../../src/ledger/guided/read-found.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { committeeOf } from "../../../src/ledger/proof/committee.ts";
import {
  decodeCommitted,
  type ObjectReference,
  ObjectSet,
} from "../../../src/ledger/proof/object-set.ts";
import { createVerifier } from "../../../src/ledger/proof/prover.ts";
import { GENUINE_FOLDER, genuineCheckpoint } from "../../genuine.ts";
import { asProtobuf } from "../as-protobuf.ts";
import {
  withOtherVersion,
  withoutCommitment,
  withoutObject,
  withRemoval,
} from "./forged-effects.ts";

const FOLDER = join(GENUINE_FOLDER, "..", "object-set");

const bytes = readFileSync(join(FOLDER, "1137.chk"));
const genuine: RawCheckpoint = { sequence: 1137n, encoding: "bcs", bytes };

const committeeForm = bcs.struct("Committee", {
  epoch: bcs.u64(),
  members: bcs.vector(bcs.struct("Member", { publicKey: bcs.vector(bcs.u8()), stake: bcs.u64() })),
});

const setOf = (raw: RawCheckpoint) => decodeCommitted(raw, refusing(true)).objects;

const addressOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const objectOf = (number: number, version = 1n): ObjectReference => ({
  id: addressOf(number),
  version,
  digest: new Uint8Array(32).fill(number % 251),
});

const referenceOf = ({ id, version, digest }: ObjectReference): Reference => ({
  objectId: id,
  version,
  digest,
});

describe("the genuine checkpoint", () => {
  let set: ObjectSet;
  let commitment: Uint8Array;

  beforeAll(() => {
    set = setOf(genuine) ?? expect.fail("no commitment");
    commitment = readCertified(genuine).objectSet ?? expect.fail("no commitment");
  });

  test("its effects give the commitment that its committee signed, in both encodings", async () => {
    const { epoch, members } = committeeForm.parse(readFileSync(join(FOLDER, "committee.bcs")));
    const committee = committeeOf(
      BigInt(epoch),
      members.map(({ publicKey, stake }) => ({
        publicKey: Uint8Array.from(publicKey),
        stake: BigInt(stake),
      })),
    );
    const verifier = createVerifier(await loadBls(), committee);
    expect(verifier.verify(readCertified(genuine)).stake).toBeGreaterThanOrEqual(6_667n);
    expect(set.objects.length).toBe(1016);
    expect(set.commitment).toEqual(commitment);
    const protobuf = { ...genuine, encoding: "protobuf", bytes: asProtobuf(bytes) } as const;
    expect(setOf(protobuf)?.commitment).toEqual(commitment);
  });

  test("any of its objects are proven as it left them, in their own version and digest alone", () => {
    const prove = (ids: Iterable<string>) => set.prove(new Set(ids));
    assertLeft(commitment, set.objects.map(referenceOf), prove(set.objects.map(({ id }) => id)));
    for (const object of set.objects) {
      expect(set.find(object.id)).toBe(object);
      assertLeft(commitment, [referenceOf(object)], prove([object.id]));
    }
    const object = set.objects[500] ?? expect.fail("no object");
    const own = referenceOf(object);
    const proof = prove([object.id]);
    // Ten siblings with a byte each, and the way to the leaf.
    expect(proof.length).toBe(10 * 33 + 11);
    const refused = (left: readonly Reference[], bytes: Uint8Array, why: string) =>
      expect(() => assertLeft(commitment, left, bytes)).toThrow(why);
    const elsewhere = "does not match the commitment of the checkpoint's summary";
    refused([{ ...own, version: own.version - 1n }], proof, elsewhere);
    refused([{ ...own, digest: own.digest.map((byte) => byte ^ 1) }], proof, elsewhere);
    refused([{ ...own, objectId: addressBehind(object.id) }], proof, elsewhere);
    refused([own], prove([set.objects[501]?.id ?? ""]), elsewhere);
    refused([own], new ObjectSet([object]).prove(new Set([object.id])), elsewhere);
    refused([own, own], proof, "is no proof of these objects");
    refused([own], prove([]), "is no proof of these objects");
    refused([own], Buffer.concat([proof, Buffer.of(0)]), "is no proof of these objects");
    refused([own], proof.subarray(0, -1), "ends too early");
    refused([own], Buffer.alloc(100, 1), "is no proof of these objects");
  });

  test("effects that leave out an object, or give it another version, are refused though every digest fits", () => {
    for (const forged of [withoutObject(genuine), withOtherVersion(genuine)]) {
      expect(decodeCheckpoint(forged).transactions.length).toBe(9);
      const refused = "the summary does not commit to the";
      expect(() => readFound(forged, [])).toThrow(CheckpointDecodeError);
      expect(() => readFound(forged, [])).toThrow(refused);
      expect(() => decodeCommitted(forged, refusing(true))).toThrow(refused);
      // Without a commitment only the signature shows it.
      expect(readFound(withoutCommitment(forged), []).certified.objectSet).toBeNull();
    }
    expect(readFound(genuine, []).certified.objectSet).toEqual(commitment);
  });

  test("removed objects are leaves, in the version and with the digest of their removal", () => {
    const { objects, bytes } = withRemoval(genuine);
    const at = Buffer.from(bytes).indexOf(commitment);
    const committing = (leaves: readonly ObjectReference[]) => {
      const own = Buffer.from(bytes);
      own.set(new ObjectSet(leaves).commitment, at);
      return { ...genuine, bytes: own };
    };
    expect(setOf(committing(objects))?.objects).toEqual(objects);
    const live = objects.filter(({ digest }) => digest[0] !== 99);
    expect(live.length).toBe(objects.length - 1);
    // A form that no genuine checkpoint has shown: not committed, rather than refused.
    expect(setOf(committing(live))).toBeNull();
    expect(setOf({ ...genuine, bytes })).toBeNull();
  });

  test("a walk from a version that the checkpoint did not leave ends there", async () => {
    const { checkpoint, objects } = decodeCommitted(genuine, refusing(true));
    const whole = { raw: genuine, checkpoint, objects, shownBy: "signature" } as const;
    const walking = {
      index: { description: "a node", checkpointOf: async () => 1137n },
      checkpoints: {
        source: "memory",
        read: async () => whole,
        counts: () => ({ read: 1, committed: 1 }),
      },
    };
    const from = async (nth: 0 | -1) => {
      const all = checkpoint.transactions.flatMap(({ digest, outputObjects }) =>
        outputObjects.map(({ id, version }) => ({ id, version, previousTransaction: digest })),
      );
      const { id } = all.find((one, at) => all.findIndex(({ id }) => id === one.id) < at) ?? {};
      const head = all.filter((one) => one.id === id).at(nth) ?? expect.fail("none twice");
      const { signal } = new AbortController();
      for await (const { version } of walkBack(walking, head.id, head, signal)) return version;
      return null;
    };
    expect(await from(-1)).toBeGreaterThan(0n);
    await expect(from(0)).rejects.toThrow(/left object 0x[0-9a-f]+ at version \d+, not at \d+/);
  });

  test("checkpoints from before have no commitment", () => {
    const { bcs: before } = genuineCheckpoint("273301811.chk");
    expect(setOf(before)).toBeNull();
  });
});

const addressBehind = (id: string): string =>
  `0x${(BigInt(id) + 1n).toString(16).padStart(64, "0")}`;

test("any objects of a set are proven together, and no others by the same proof", () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 80 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(numbers, fc.nat(), fc.nat(), (written, chosen, other) => {
      const set = new ObjectSet(written.map((number) => objectOf(number)));
      const { commitment } = set;
      const left = written.filter((_, at) => at === 0 || (chosen >> (at % 30)) % 2 === 1);
      const proof = set.prove(new Set(left.map(addressOf)));
      const references = left.map((number) => referenceOf(objectOf(number)));
      assertLeft(commitment, references, proof);
      const at = other % left.length;
      const forged = references.map((one, place) =>
        place === at ? { ...one, version: one.version + 1n } : one,
      );
      expect(() => assertLeft(commitment, forged, proof)).toThrow(ExcerptError);
      const fewer = references.filter((_, place) => place !== at);
      expect(() => assertLeft(commitment, fewer, proof)).toThrow(ExcerptError);
    }),
    { numRuns: 200 },
  );
});
