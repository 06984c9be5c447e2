import { join } from "node:path";
import { expect, test } from "vitest";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../../src/ledger/decode/cursor.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readBitmap, readCertified } from "../../../src/ledger/proof/certificate.ts";
import { committeeOf } from "../../../src/ledger/proof/committee.ts";
import { CertificateError, CommitteeError } from "../../../src/ledger/proof/proof-errors.ts";
import { createProver, createVerifier } from "../../../src/ledger/proof/prover.ts";
import { readCheckpointFile } from "../../../src/ledger/sources/chk-file.ts";
import { GENUINE_FOLDER } from "../../genuine.ts";
import { asProtobuf } from "../as-protobuf.ts";

const bls = await loadBls();
const open = (file: string) => readCheckpointFile(join(GENUINE_FOLDER, file));
const before = await open("15918264.chk");
const signed = await open("16005062.chk");

/** The committee that a checkpoint, the last of its epoch, hands over to. */
const committeeAfter = (raw: RawCheckpoint) => {
  const { header, nextCommittee } = readCertified(raw);
  return committeeOf(header.epoch + 1n, nextCommittee ?? []);
};
const verifier = createVerifier(bls, committeeAfter(before));

test("the genuine pair: 61 of 105 members signed, with a stake of 6,684, in both encodings", () => {
  expect(verifier.committee.members).toHaveLength(105);
  const protobuf: RawCheckpoint = {
    ...signed,
    encoding: "protobuf",
    bytes: asProtobuf(signed.bytes),
  };
  for (const raw of [signed, protobuf]) {
    expect(verifier.verify(readCertified(raw))).toEqual({ signers: 61, stake: 6684n });
  }
  expect(readCertified(protobuf)).toEqual(readCertified(signed));
});

test("1,000 single-bit changes of summary, signature and bitmap are all refused", () => {
  const { summary, certificate } = readCertified(signed);
  const signatureAt = summary.length + 8;
  const signersAt = signatureAt + 48;
  // Every bit of the signature; the summary and the bitmap from one end to the other.
  const bits = [
    ...spread(158, 0, 8 * summary.length),
    ...spread(384, 8 * signatureAt, 8 * signersAt),
    ...spread(458, 8 * signersAt, 8 * (signersAt + 1 + (certificate?.signers.length ?? 0))),
  ];
  expect(new Set(bits).size).toBe(1000);
  for (const bit of bits) {
    const bytes = Uint8Array.from(signed.bytes.subarray(0, 64 * 1024));
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(() => verifier.verify(readCertified({ ...signed, bytes })), `bit ${bit}`).toThrow(
      REFUSAL,
    );
  }
});

test("another epoch's committee is refused, and so is one of the right epoch with other keys", () => {
  const own = createVerifier(bls, committeeAfter(signed));
  expect(() => own.verify(readCertified(signed))).toThrow("the committee is that of epoch");
  const { epoch, members } = verifier.committee;
  const [, ...others] = members;
  const keys = others.map(({ publicKey }) => publicKey);
  const stakes = members.map(({ stake }) => stake);
  const [first = 0n, second = 0n, ...rest] = stakes;
  const shifted = [first + second, ...rest].map((stake, i) => ({
    publicKey: keys[i] ?? new Uint8Array(),
    stake,
  }));
  const posing = createVerifier(bls, committeeOf(epoch, shifted));
  expect(() => posing.verify(readCertified(signed))).toThrow(CertificateError);
});

test("a valid signature below the quorum is refused", () => {
  const { committee } = verifier;
  const signers = readCertified(signed).certificate?.signers ?? new Uint8Array();
  const places = readBitmap(signers, committee.members.length) ?? [];
  const weighed = (ofIdle: bigint) => {
    const idle = committee.members.findIndex((_, place) => !places.includes(place));
    const [signer = 0] = places;
    const members = committee.members.map(({ publicKey }) => ({ publicKey, stake: 1n }));
    const left = 10_000n - BigInt(members.length);
    const stakes = new Map([
      [idle, ofIdle],
      [signer, left - ofIdle],
    ]);
    const given = members.map(({ publicKey, stake }, place) => ({
      publicKey,
      stake: stake + (stakes.get(place) ?? 0n),
    }));
    return createVerifier(bls, committeeOf(committee.epoch, given));
  };
  // 44 members did not sign; the others have what these and the idle one's addition leave.
  const most = 10_000n - 6_667n - 44n;
  expect(weighed(most).verify(readCertified(signed))).toEqual({ signers: 61, stake: 6667n });
  expect(() => weighed(most + 1n).verify(readCertified(signed))).toThrow("less than 6667");
});

test("a committee whose stakes do not add up to 10,000, or with a repeated or missing key, is refused", () => {
  const { epoch, members } = verifier.committee;
  const [first, ...others] = members;
  if (first === undefined) throw new Error("no members");
  expect(() => committeeOf(epoch, others)).toThrow(CommitteeError);
  expect(() => committeeOf(epoch, [...members, { ...first, stake: 0n }])).toThrow(CommitteeError);
  const twice = [{ ...first, stake: 1n }, { ...first, stake: first.stake - 1n }, ...others];
  expect(() => committeeOf(epoch, twice)).toThrow("names a key twice");
  const broken = { ...first, publicKey: first.publicKey.with(95, (first.publicKey[95] ?? 0) ^ 1) };
  expect(() => createVerifier(bls, committeeOf(epoch, [broken, ...others]))).toThrow(
    CommitteeError,
  );
});

const REFUSAL = expect.toSatisfy(
  (error) => error instanceof CertificateError || error instanceof CheckpointDecodeError,
);

/** Numbers from `first` to before `end`, evenly. */
const spread = (count: number, first: number, end: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => first + Math.floor((i * (end - first)) / count));

test("parsing a committee's keys does not block the event loop", async () => {
  const { committee } = verifier;
  // The opposite of each key is in the group too, and has not been parsed before.
  const members = committee.members.map(({ publicKey, stake }) => ({
    publicKey: publicKey.with(0, (publicKey[0] ?? 0) ^ 0x20),
    stake,
  }));
  const opposite = createProver(bls, committeeOf(committee.epoch, members));
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  await opposite.prepare();
  clearInterval(counting);
  expect(turns).toBeGreaterThan(10);
  expect(() => opposite.prove(readCertified(signed))).toThrow(CertificateError);
  const prover = createProver(bls, committee);
  await prover.prepare();
  expect(prover.prove(readCertified(signed))).toEqual({ signers: 61, stake: 6684n });
});
