import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bcs } from "@mysten/sui/bcs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
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
  ObjectSetError,
  verifyInclusion,
  verifyNonInclusion,
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
    expect(setOf(protobuf)?.root).toEqual(set.root);
  });

  test("each of its objects is proven present, in its own version and digest alone", () => {
    for (const object of set.objects) {
      const { id } = object;
      expect(set.find(id)).toBe(object);
      const proof = set.proveInclusion(id) ?? expect.fail(`no proof of ${id}`);
      verifyInclusion(commitment, object, proof);
      expect(set.proveNonInclusion(id)).toBeNull();
    }
    const object = set.objects[500] ?? expect.fail("no object");
    const { id } = object;
    const proof = set.proveInclusion(id) ?? expect.fail(`no proof of ${id}`);
    const stale = { ...object, version: object.version - 1n };
    expect(() => verifyInclusion(commitment, stale, proof)).toThrow("does not lead to the root");
    const other = { ...object, digest: object.digest.map((byte) => byte ^ 1) };
    expect(() => verifyInclusion(commitment, other, proof)).toThrow(ObjectSetError);
  });

  test("an object that it did not write is proven absent, below, between and above the others", () => {
    const between = addressBehind(set.objects[500]?.id ?? "");
    for (const id of [addressOf(0), between, `0x${"f".repeat(64)}`]) {
      const proof = set.proveNonInclusion(id) ?? expect.fail(`${id} is there`);
      verifyNonInclusion(commitment, id, proof);
      expect(set.proveInclusion(id)).toBeNull();
    }
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

  test("removed objects may be leaves or not; a form that is not known shows nothing, and refuses nothing", () => {
    const { objects, bytes } = withRemoval(genuine);
    const at = Buffer.from(bytes).indexOf(commitment);
    for (const leaves of [objects, objects.filter(({ digest }) => digest[0] !== 99)]) {
      const committing = Buffer.from(bytes);
      committing.set(new ObjectSet(leaves).commitment, at);
      expect(setOf({ ...genuine, bytes: committing })?.objects).toEqual(leaves);
    }
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

test("no proof of absence holds for an object of the set, and every other id has one", () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 80 }), { maxLength: 40 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: 0, max: 81 }), (written, wanted) => {
      const set = new ObjectSet(written.map((number) => objectOf(number)));
      const id = addressOf(wanted);
      const { commitment } = set;
      if (!written.includes(wanted)) {
        verifyNonInclusion(commitment, id, set.proveNonInclusion(id) ?? expect.fail("no proof"));
        return;
      }
      verifyInclusion(commitment, objectOf(wanted), set.proveInclusion(id) ?? expect.fail("none"));
      // Whatever two leaves a forger names: none are adjacent around the object, or at an end.
      const leaves = [null, ...written.filter((number) => number !== wanted)].map((number) => {
        const path = number === null ? null : set.proveInclusion(addressOf(number))?.path;
        return number === null || !path ? null : { object: objectOf(number), path };
      });
      for (const before of leaves) {
        for (const after of leaves) {
          expect(() =>
            verifyNonInclusion(commitment, id, { root: set.root, before, after }),
          ).toThrow(ObjectSetError);
        }
      }
    }),
    { numRuns: 100 },
  );
});

describe("a forged proof of absence is refused", () => {
  const set = new ObjectSet([10, 20, 30, 40, 50].map((number) => objectOf(number)));
  const { commitment, root } = set;
  const leaf = (number: number) => {
    const path = set.proveInclusion(addressOf(number))?.path ?? expect.fail(`no ${number}`);
    return { object: objectOf(number), path };
  };
  const refused = (wanted: number, before: number | null, after: number | null, why: string) =>
    expect(() =>
      verifyNonInclusion(commitment, addressOf(wanted), {
        root,
        before: before === null ? null : leaf(before),
        after: after === null ? null : leaf(after),
      }),
    ).toThrow(why);

  test("with the neighbours of its neighbours", () => {
    refused(30, 20, 40, "the two named are not adjacent");
  });

  test("with an end that is none", () => {
    refused(10, null, 20, "objects stand below the one named");
    refused(50, 40, null, "objects stand above the one named");
    refused(30, null, null, "the checkpoint wrote objects, and none is named");
  });

  test("with neighbours that do not bracket it", () => {
    refused(15, 20, 30, `${addressOf(20)} is not below`);
    refused(35, 20, 30, `${addressOf(30)} is not above`);
    refused(20, 20, 30, `${addressOf(20)} is not below`);
  });

  test("with the object itself as its neighbour, in another spelling", () => {
    const id = addressOf(0xaa);
    const other = new ObjectSet([objectOf(0xaa), objectOf(0xbb)]);
    const named = (number: number, spelled: string) => ({
      object: { ...objectOf(number), id: spelled },
      path: other.proveInclusion(addressOf(number))?.path ?? expect.fail(`no ${number}`),
    });
    const forged = {
      root: other.root,
      before: named(0xaa, id.replace("aa", "AA")),
      after: named(0xbb, addressOf(0xbb)),
    };
    expect(() => verifyNonInclusion(other.commitment, id, forged)).toThrow(ObjectSetError);
  });

  test("with the root of another checkpoint", () => {
    const other = new ObjectSet([objectOf(10), objectOf(50)]);
    const proof = other.proveNonInclusion(addressOf(30)) ?? expect.fail("no proof");
    expect(() => verifyNonInclusion(commitment, addressOf(30), proof)).toThrow(
      "is of another checkpoint's objects",
    );
  });

  test("with an index that its path cannot have", () => {
    const { object, path } = leaf(10);
    for (const index of [-1, 0.5, 8, 2 ** 40, Number.NaN]) {
      expect(() => verifyInclusion(commitment, object, { root, path: { ...path, index } })).toThrow(
        "does not lead to the root",
      );
    }
  });
});
