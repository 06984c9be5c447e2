import { expect, test } from "vitest";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../../src/ledger/decode/decode.ts";
import { loadBls } from "../../../src/ledger/proof/bls.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { committeeAfter, createVerifier } from "../../../src/ledger/proof/prover.ts";
import { lazyLedger, MAINNET } from "./lazy-ledger.ts";

const ledger = lazyLedger({ ...MAINNET, relevant: 120 });
const bls = await loadBls();

const raw = (sequence: bigint): RawCheckpoint => ({
  sequence,
  encoding: "protobuf",
  bytes: ledger.checkpoint(sequence),
});

test("any of 300 million checkpoints is made when asked for, whole and each time the same", () => {
  const asked = [0n, 1n, 123_456_789n, ...ledger.relevant.slice(1, 20), ledger.newest()];
  let size = 0;
  for (const sequence of asked) {
    const { bytes } = raw(sequence);
    const checkpoint = decodeCheckpoint(raw(sequence));
    expect(checkpoint.sequence).toBe(sequence);
    expect(checkpoint.epoch).toBe(sequence / MAINNET.epochLength);
    expect(Buffer.compare(bytes, ledger.checkpoint(sequence))).toBe(0);
    size += bytes.length;
  }
  expect(ledger.newest()).toBe(299_999_999n);
  expect(size / asked.length / 1024).toBeGreaterThan(120);
  expect(size / asked.length / 1024).toBeLessThan(220);
});

test("a checkpoint names the digest of the one before it, within its window", () => {
  const [adjacent = 0n] = ledger.relevant
    .filter((one) => ledger.relevant.includes(one - 1n))
    .slice(1);
  expect(decodeCheckpoint(raw(adjacent)).previousDigest).toBe(
    decodeCheckpoint(raw(adjacent - 1n)).digest,
  );
});

test("each epoch's end names the next committee, nearly the same, which signs its checkpoints", () => {
  let { committee } = ledger;
  for (let epoch = 0n; epoch < 12n; epoch += 1n) {
    const end = ledger.epochEnd(epoch) ?? -1n;
    const certified = readCertified(raw(end));
    createVerifier(bls, committee).verify(certified);
    const next = committeeAfter(certified);
    if (next === null) throw new Error(`checkpoint ${end} ends no epoch`);
    createVerifier(bls, next).verify(readCertified(raw(end + 1n)));
    const keys = new Set(committee.members.map(({ publicKey }) => publicKey.join()));
    const stayed = next.members.filter(({ publicKey }) => keys.has(publicKey.join()));
    expect(next.members.length).toBe(100);
    expect(stayed.length).toBeGreaterThan(97);
    committee = next;
  }
});

test("what the lists name holds the contract's transactions, through foreign packages too", () => {
  const [first = "", second = ""] = ledger.packages;
  expect(second).not.toBe("");
  const places = [first, second].flatMap((address) => ledger.listed(`event ${address}`));
  expect(places.length).toBeGreaterThan(100);
  const treasury = ledger.coins[0]?.treasuryId ?? "";
  const place = ledger.listed(`object ${treasury}`).at(-1);
  const { transactions } = decodeCheckpoint(raw(place?.checkpoint ?? 0n));
  const written = transactions[place?.index ?? 0]?.outputObjects.find(({ id }) => id === treasury);
  expect(written?.version).toBe(ledger.headOf(treasury)?.version);
});
