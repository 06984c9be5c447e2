/** What the demo's validators sign, checked by a library that has no part in it. */

import { GrpcTypes } from "@mysten/sui/grpc";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { DeserializationFormat, RoaringBitmap32, roaringLibraryInitialize } from "roaring-wasm";
import { beforeAll, expect, test } from "vitest";
import { createDemoLedger, DemoOptionError } from "../../demo/demo-ledger.ts";
import { blsPublicKey, blsSign } from "../../demo/wire/bls.ts";
import type { Committee } from "../../src/ledger/proof/committee.ts";
import * as types from "../ledger/wire-types.ts";

const bls = bls12_381.shortSignatures;
const TAG = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
const QUORUM = 6_667n;
const EPOCH = 20n;
const COUNT = 100;

type Data = ReturnType<typeof types.readCheckpointData>;
type Members = Committee["members"];
type Signed = {
  readonly epoch: bigint;
  readonly signature: Uint8Array;
  readonly signers: Uint8Array;
};

let genesis: Committee;
let checkpoints: readonly { readonly data: Data; readonly protobuf: GrpcTypes.Checkpoint }[];

beforeAll(async () => {
  await roaringLibraryInitialize();
  const ledger = createDemoLedger({ seed: "validators", epochLength: Number(EPOCH) });
  genesis = ledger.committee;
  checkpoints = Array.from({ length: COUNT }, () => {
    const made = ledger.next();
    return {
      data: types.readCheckpointData(made.raw("bcs")),
      protobuf: GrpcTypes.Checkpoint.fromBinary(made.raw("protobuf")),
    };
  });
  expect(ledger.epoch).toBe(BigInt(COUNT) / EPOCH);
});

/** The committees as end-of-epoch checkpoints hand them over, from the one of epoch 0 on. */
const committees = (): readonly Members[] => [
  genesis.members,
  ...checkpoints.flatMap(({ data }) => {
    const next = data.summary.value.endOfEpoch?.nextCommittee;
    return next === undefined
      ? []
      : [next.map(([key, stake]) => ({ publicKey: Uint8Array.from(key), stake: BigInt(stake) }))];
  }),
];

const places = (signers: Uint8Array): readonly number[] =>
  RoaringBitmap32.deserialize(DeserializationFormat.portable, signers).toArray();

/** Whether the signature is that of the members it names, whatever their stake. */
const isSigned = (summary: Uint8Array, { epoch, signature, signers }: Signed, members: Members) => {
  const end = Buffer.alloc(8);
  end.writeBigUInt64LE(epoch);
  const message = Uint8Array.of(2, 0, 0, ...summary, ...end);
  const keys = places(signers).map((place) => members[place]?.publicKey ?? new Uint8Array());
  const together = bls.aggregatePublicKeys(keys.map((key) => bls12_381.G2.Point.fromBytes(key)));
  return bls.verify(bls12_381.G1.Point.fromBytes(signature), bls.hash(message, TAG), together);
};

const signedIn = ({ certificate }: Data): Signed => ({
  epoch: BigInt(certificate.epoch),
  signature: Uint8Array.from(certificate.signature),
  signers: Uint8Array.from(certificate.signers),
});

test("a quorum of the epoch's committee signs every checkpoint, the same in both encodings, with varying members", () => {
  const known = committees();
  const seen = new Set<string>();
  for (const [sequence, { data, protobuf }] of checkpoints.entries()) {
    const signed = signedIn(data);
    const epoch = BigInt(sequence) / EPOCH;
    expect([signed.epoch, BigInt(data.summary.value.epoch)]).toEqual([epoch, epoch]);
    expect({
      epoch: protobuf.signature?.epoch,
      signature: protobuf.signature?.signature,
      signers: protobuf.signature?.bitmap,
    }).toEqual(signed);
    const members = known[Number(epoch)] ?? [];
    const signers = places(signed.signers);
    const stake = signers.reduce((sum, place) => sum + (members[place]?.stake ?? 0n), 0n);
    expect(stake).toBeGreaterThanOrEqual(QUORUM);
    seen.add(signers.join());
    // Around every hand-over, and now and then.
    if (sequence % 20 < 1 || sequence % 20 > 18 || sequence % 7 === 0) {
      expect(isSigned(data.summary.bytes, signed, members)).toBe(true);
    }
  }
  expect(seen.size).toBeGreaterThan(10);
});

test("a signature fits no other summary, epoch or committee", () => {
  const known = committees();
  const [one, other] = checkpoints.slice(60);
  const members = known[3] ?? [];
  if (one === undefined || other === undefined) throw new Error("two checkpoints expected");
  const signed = signedIn(one.data);
  const { bytes } = one.data.summary;
  expect(isSigned(bytes, signed, members)).toBe(true);
  expect(isSigned(other.data.summary.bytes, signed, members)).toBe(false);
  expect(isSigned(bytes, { ...signed, epoch: 2n }, members)).toBe(false);
  const before = known[2]?.toReversed() ?? [];
  expect(isSigned(bytes, signed, before)).toBe(false);
});

test("committees change from epoch to epoch: ordered by key, with 10,000 votes, slightly different", () => {
  const known = committees();
  expect(known.length).toBe(1 + COUNT / Number(EPOCH));
  for (const [epoch, members] of known.entries()) {
    const keys = members.map(({ publicKey }) => Buffer.from(publicKey).toString("hex"));
    expect(keys).toEqual([...new Set(keys)].sort());
    expect(keys.every((key) => key.length === 192)).toBe(true);
    expect(members.reduce((sum, { stake }) => sum + stake, 0n)).toBe(10_000n);
    const before = known[epoch - 1];
    if (before === undefined) continue;
    expect(members).not.toEqual(before);
    const stayed = before.filter(({ publicKey }) =>
      keys.includes(Buffer.from(publicKey).toString("hex")),
    );
    expect(stayed.length).toBeGreaterThanOrEqual(members.length - 1);
  }
});

test("an epoch ends with ChangeEpoch, the last transaction of its last checkpoint, and the next restarts its gas at zero", () => {
  let gas = [0n, 0n, 0n, 0n];
  for (const [sequence, { data }] of checkpoints.entries()) {
    const { summary, transactions } = data;
    for (const [index, { signed, effects, events, outputs }] of transactions.entries()) {
      const { V2 } = effects.value;
      expect(V2?.executedEpoch).toBe(summary.value.epoch);
      const { gasUsed } = V2 ?? {};
      const used = [
        gasUsed?.computationCost,
        gasUsed?.storageCost,
        gasUsed?.storageRebate,
        gasUsed?.nonRefundableStorageFee,
      ];
      gas = gas.map((sum, n) => sum + BigInt(used[n] ?? 0));
      const ends = signed[0]?.data.value.V1.kind.EndOfEpochTransaction;
      const last = summary.value.endOfEpoch !== null && index === transactions.length - 1;
      expect(ends !== undefined).toBe(last);
      if (ends === undefined) continue;
      const next = String(BigInt(sequence + 1) / EPOCH);
      expect(ends.map(({ ChangeEpoch }) => ChangeEpoch)).toEqual([
        {
          epoch: next,
          protocolVersion: summary.value.endOfEpoch?.nextProtocolVersion,
          storageCharge: String(gas[1]),
          computationCharge: String(gas[0]),
          storageRebate: String(gas[2]),
          nonRefundableStorageFee: String(gas[3]),
          epochStartTimestampMs: summary.value.timestampMs,
          systemPackages: [],
        },
      ]);
      expect(events?.value.map(({ type }) => type.name)).toEqual(["SystemEpochInfoEvent"]);
      expect(outputs.map(({ value }) => value.data.Move?.type.Other?.name)).toEqual([
        "SuiSystemState",
      ]);
    }
    expect(summary.value.gas).toEqual(gas.map(String));
    const ended = (BigInt(sequence) + 1n) % EPOCH === 0n;
    expect(summary.value.endOfEpoch !== null).toBe(ended);
    if (ended) gas = [0n, 0n, 0n, 0n];
  }
});

test("keys and signatures match another library's, for short and long secrets", () => {
  const long = BigInt(`0x${"6b".repeat(31)}`);
  for (const secret of [1n, 77n, 0xdead_beefn, long]) {
    const bytes = Buffer.from(secret.toString(16).padStart(64, "0"), "hex");
    expect(blsPublicKey(secret)).toEqual(bls.getPublicKey(bytes).toBytes());
    for (const message of ["", "a", "b".repeat(3_000)].map((text) => Buffer.from(text))) {
      const expected = bls.sign(bls.hash(message, TAG), bytes).toBytes();
      expect(blsSign(secret, message)).toEqual(expected);
    }
  }
});

test("an epoch has at least two checkpoints", () => {
  expect(() => createDemoLedger({ seed: 1, epochLength: 1 })).toThrow(DemoOptionError);
  expect(() => createDemoLedger({ seed: 1, epochLength: 2.5 })).toThrow(
    "epochLength must be a whole number, not 2.5",
  );
});
