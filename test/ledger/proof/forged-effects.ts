/** Checkpoints of a source that lies about objects with digests that fit. */
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { Cursor } from "../../../src/ledger/decode/cursor.ts";
import { decodeWith, noVerifier } from "../../../src/ledger/decode/decode.ts";
import { digestOf } from "../../../src/ledger/decode/digest.ts";
import { readObject, skipOwner } from "../../../src/ledger/decode/object.ts";
import type { Claim } from "../../../src/ledger/decode/verify.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { decodeCommitted } from "../../../src/ledger/proof/object-set.ts";

const claimsOf = (raw: RawCheckpoint): readonly Claim[] => {
  const claims: Claim[] = [];
  decodeWith(raw, {
    inputs: false,
    claim: (_, claim) => {
      claims.push(claim);
    },
  });
  return claims;
};

/** Writes digests of what changed, inside out: objects, effects, contents. */
const withDigests = (raw: RawCheckpoint): RawCheckpoint => {
  const bytes = Buffer.from(raw.bytes);
  const claims = claimsOf(raw);
  for (const level of ["Object", "TransactionEffects", "CheckpointContents"]) {
    for (const { of, start, end, expectedAt } of claims.filter((claim) => claim.of === level)) {
      bytes.set(digestOf(of, bytes.subarray(start, end)), expectedAt);
    }
  }
  return { ...raw, bytes };
};

/** With a zero instead of the bytes. */
const spliced = ({ bytes }: RawCheckpoint, from: number, to: number): Buffer => {
  const all = Buffer.from(bytes);
  return Buffer.concat([all.subarray(0, from), Buffer.of(0), all.subarray(to)]);
};

/** An object that a transaction created: its output state becomes "none", its bytes are cut out. */
const withoutCreated = (raw: RawCheckpoint) => {
  const cursor = new Cursor(raw.bytes, raw.sequence);
  const claims = claimsOf(raw);
  for (const { effects, transaction } of claims) {
    const created = effects?.writes.find(({ idAt }) =>
      effects.inputs.every((input) => !cursor.same32(input.idAt, idAt)),
    );
    if (created === undefined) continue;
    const outputs = claims.filter((one) => one.of === "Object" && one.transaction === transaction);
    const object = outputs.find(({ idAt = 0 }) => cursor.same32(idAt, created.idAt));
    const [first] = outputs;
    if (object === undefined || first === undefined) throw new Error("its bytes are not there");
    const all = Buffer.from(raw.bytes);
    all.writeUInt8(outputs.length - 1, first.start - 1);
    const bytes = Buffer.concat([all.subarray(0, object.start), all.subarray(object.end)]);
    cursor.at = created.digestAt + 32;
    skipOwner(cursor);
    const at = created.digestAt - 2;
    return { ...created, at, bytes: spliced({ ...raw, bytes }, at, cursor.at) };
  }
  throw new Error("no transaction creates an object");
};

/** The first object that a transaction created is left out of its effects. */
export const withoutObject = (raw: RawCheckpoint): RawCheckpoint =>
  withDigests({ ...raw, bytes: withoutCreated(raw).bytes });

/** The last transaction gives its objects a higher version. */
export const withOtherVersion = (raw: RawCheckpoint): RawCheckpoint => {
  const bytes = Buffer.from(raw.bytes);
  const cursor = new Cursor(bytes, raw.sequence);
  const claims = claimsOf(raw);
  const last = claims.findLast(({ effects }) => effects !== undefined);
  const lamportAt = last?.effects?.writes[0]?.versionAt ?? 0;
  const before = cursor.u64At(lamportAt);
  for (const { of, transaction, start } of claims) {
    if (of !== "Object" || transaction !== last?.transaction) continue;
    cursor.at = start;
    const { versionAt } = readObject(cursor);
    if (cursor.u64At(versionAt) === before) bytes.writeBigUInt64LE(before + 1n, versionAt);
  }
  bytes.writeBigUInt64LE(before + 1n, lamportAt);
  return withDigests({ ...raw, bytes });
};

/** The first object that a transaction created is deleted by it instead; with all objects noted. */
export const withRemoval = (raw: RawCheckpoint) => {
  const cursor = new Cursor(raw.bytes, raw.sequence);
  const { objects } = decodeCommitted(raw, noVerifier);
  const { bytes, at, idAt, versionAt } = withoutCreated(raw);
  // The operation on its id follows.
  bytes[at + 1] = 2;
  const id = cursor.address(idAt);
  const gone = { id, version: cursor.u64At(versionAt), digest: new Uint8Array(32).fill(99) };
  return {
    objects: (objects?.objects ?? []).map((object) => (object.id === id ? gone : object)),
    bytes: withDigests({ ...raw, bytes }).bytes,
  };
};

/** As before protocol 125. */
export const withoutCommitment = (raw: RawCheckpoint): RawCheckpoint => {
  const { objectSet } = readCertified(raw);
  const at = Buffer.from(raw.bytes).indexOf(objectSet ?? "none");
  // Count of commitments, kind, length of the digest.
  return { ...raw, bytes: spliced(raw, at - 3, at + 32) };
};
