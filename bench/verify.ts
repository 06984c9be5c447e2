/**
 * The cost of each `VERIFY` level beside `off`: per checkpoint of network and demo as the reader
 * reads them, and per signature. At the tip every checkpoint has one.
 */
import { randomBytes, randomInt } from "node:crypto";
import { join } from "node:path";
import { createDemoLedger } from "../demo/demo-ledger.ts";
import { blsPublicKey, blsSign } from "../demo/wire/bls.ts";
import type { RawCheckpoint } from "../src/ledger/decode/checkpoint.ts";
import { loadBls } from "../src/ledger/proof/bls.ts";
import { readerAt } from "../src/ledger/reading/read.ts";
import { readCheckpointFile } from "../src/ledger/sources/chk-file.ts";
import { VERIFY_LEVELS, type VerifyLevel } from "../src/settings/values.ts";
import { GENUINE_FOLDER, genuineFiles } from "../test/genuine.ts";
import { type Figure, median, summedUp } from "./figure.ts";
import { spentMs } from "./processes.ts";

/** Of the demo. */
const CHECKPOINTS = 400;
/** The network's checkpoints per second. */
const AT_THE_TIP = 4;

/** Measured rounds after warm-up; the median counts. */
const ROUNDS = 15;
const WARM_UP = 5;

/** Ms per checkpoint, by level; interleaved, so that load affects all. */
const readingMs = (inputs: readonly RawCheckpoint[], packages: readonly string[]) => {
  const readers = VERIFY_LEVELS.map((level) => ({ level, read: readerAt(level)(packages) }));
  const times = new Map<VerifyLevel, number[]>(VERIFY_LEVELS.map((level) => [level, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const { level, read } of readers) {
      const started = spentMs();
      for (const raw of inputs) read(raw);
      const took = (spentMs() - started) / inputs.length;
      if (round >= WARM_UP) times.get(level)?.push(took);
    }
  }
  const of = (level: VerifyLevel) => median(times.get(level) ?? []);
  return { off: of("off"), links: of("links"), signatures: of("signatures") };
};

/** A committee of the network, and signers that are a quorum of it. */
const VALIDATORS = 105;
const SIGNERS = 61;
/** As long as a summary of the network. */
const MESSAGE_BYTES = 300;
/** Of other signers and messages each: a signature is not verified twice. */
const SIGNATURES = 300;

/** Ms to parse a committee's keys, and per signature of its quorum. */
const signatureMs = async () => {
  const bls = await loadBls();
  const validators = Array.from({ length: VALIDATORS }, () => {
    const secret = randomBytes(32).readBigUInt64BE();
    return { secret, publicKey: blsPublicKey(secret) };
  });
  const started = spentMs();
  const voters = validators.map(({ secret, publicKey }) => {
    const key = bls.publicKey(publicKey);
    if (key === null) throw new Error("a key that was just made is refused");
    return { secret, key };
  });
  const keysMs = spentMs() - started;
  const times = Array.from({ length: SIGNATURES }, () => {
    const others = new Set(voters.keys());
    while (others.size > VALIDATORS - SIGNERS) others.delete(randomInt(VALIDATORS));
    const signing = voters.filter((_, place) => !others.has(place));
    const message = randomBytes(MESSAGE_BYTES);
    const secret = signing.reduce((sum, voter) => sum + voter.secret, 0n);
    const signature = blsSign(secret, message);
    const keys = signing.map(({ key }) => key);
    const from = spentMs();
    if (!bls.verify(signature, message, keys)) throw new Error("a valid signature is refused");
    return spentMs() - from;
  }).slice(SIGNATURES / 2);
  return { keysMs, times };
};

export const bench = async (): Promise<Figure> => {
  const network = await Promise.all(
    genuineFiles.map((file) => readCheckpointFile(join(GENUINE_FOLDER, file))),
  );
  const ledger = createDemoLedger({ seed: "bench" });
  const demo = Array.from({ length: CHECKPOINTS }, (): RawCheckpoint => {
    const next = ledger.next();
    return { sequence: next.sequence, encoding: "protobuf", bytes: next.raw("protobuf") };
  });
  // The network's checkpoints have nothing of ours: they are skipped, as most are.
  const skipped = readingMs(network, ledger.packages);
  const read = readingMs(demo, ledger.packages);
  const { keysMs, times } = await signatureMs();
  const percent = (signatures: readonly number[]) =>
    (AT_THE_TIP * (skipped.signatures - skipped.off + median(signatures))) / 10;
  const kib = (inputs: readonly RawCheckpoint[]) =>
    Math.round(inputs.reduce((sum, { bytes }) => sum + bytes.length, 0) / inputs.length / 1024);
  const levels = ({ off, links, signatures }: typeof read) =>
    `off ${off.toFixed(3)}, links ${links.toFixed(3)}, signatures ${signatures.toFixed(3)} ms`;
  return {
    name: "signatures",
    what: `Verification: share of a core for \`VERIFY=signatures\` at ${AT_THE_TIP} checkpoints a second, beside \`off\``,
    ...summedUp("%", times, percent),
    ...{ better: "less", aim: 3 },
    detail:
      `${median(times).toFixed(1)} ms a signature of ${SIGNERS} of ${VALIDATORS} validators, ${Math.round(keysMs)} ms once an epoch for their keys; ` +
      `reading a checkpoint of the network without facts (${kib(network)} KiB): ${levels(skipped)}; ` +
      `one of the demo (${kib(demo)} KiB): ${levels(read)}. ` +
      "Catching up, one signature serves a batch of up to 10,000 checkpoints",
  };
};
