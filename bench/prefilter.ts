/**
 * The prefilter's cost beside decompression, which every archived checkpoint needs. Input: the
 * tests' genuine checkpoints as protobuf, compressed with zstd as in the object store.
 */
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { RawCheckpoint } from "../src/ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../src/ledger/decode/decode.ts";
import { createPrefilter } from "../src/ledger/reading/prefilter.ts";
import { genuineCheckpoint, genuineFiles } from "../test/genuine.ts";
import { type Figure, median, summedUp } from "./figure.ts";

const ROUNDS = 25;

/** Two package versions that no checkpoint has: the usual case. */
const PACKAGES = [
  "0x6e4f1c0f7d2b3a59887766554433221100ffeeddccbbaa99887766554433f1a7",
  "0x93b1d7e2c4a6580f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a697887",
];

/**
 * Decompression time / (decompression + prefilter): 1 is free. Interleaved, so that load affects
 * both.
 * @param setting measured rounds after as many for warm-up; the median counts
 */
export const bench = async (setting?: string): Promise<Figure> => {
  const counted = Number(setting ?? ROUNDS);
  const inputs = genuineFiles.map((file) => genuineCheckpoint(file).protobuf);
  const compressed = inputs.map(({ bytes }) => zstdCompressSync(bytes));
  const bytes = inputs.reduce((sum, raw) => sum + raw.bytes.length, 0);
  const mayHoldFacts = createPrefilter(PACKAGES);

  const decompression: number[] = [];
  const scan: number[] = [];
  const ratios: number[] = [];
  let passed = 0;
  for (let round = -counted; round < counted; round++) {
    const started = performance.now();
    const opened = compressed.map((one) => zstdDecompressSync(one));
    const decompressed = performance.now();
    passed = 0;
    for (const [i, raw] of inputs.entries()) {
      if (mayHoldFacts({ ...raw, bytes: opened[i] ?? raw.bytes })) passed++;
    }
    const scanned = performance.now();
    if (round < 0) continue;
    decompression.push(decompressed - started);
    scan.push(scanned - decompressed);
    ratios.push((decompressed - started) / (scanned - started));
  }

  const rate = (ms: number) => `${(bytes / 1e3 / ms).toFixed(0)} MB/s`;
  const timed = (run: (raw: RawCheckpoint) => unknown) => {
    for (let i = 0; i < counted; i++) inputs.forEach(run);
    const times = Array.from({ length: counted }, () => {
      const started = performance.now();
      inputs.forEach(run);
      return performance.now() - started;
    });
    return rate(median(times));
  };
  const whole = timed((raw) => decodeCheckpoint(raw));
  const nothing = timed((raw) => decodeCheckpoint(raw, () => false));
  return {
    name: "prefilter",
    what: "Prefilter: zstd decompression alone / decompression and prefilter, 17 checkpoints of the network",
    ...summedUp("ratio", ratios, median),
    ...{ better: "more", aim: 0.7 },
    detail:
      `${inputs.length} genuine checkpoints as protobuf, ${(bytes / 1e6).toFixed(1)} MB, ${passed} passed: ` +
      `zstd ${rate(median(decompression))}, scan ${rate(median(scan))}; ` +
      `decoding with all digests ${whole}, with nothing wanted ${nothing}`,
  };
};
