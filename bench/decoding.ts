/**
 * Decoding of demo checkpoints, beside `@mysten/sui`: from the same protobuf to the same values,
 * compared first, without checking digests. The cost of our digests, which the service always
 * recomputes, is reported separately.
 */
import { isDeepStrictEqual } from "node:util";
import { createDemoLedger } from "../demo/demo-ledger.ts";
import type { Checkpoint, RawCheckpoint } from "../src/ledger/decode/checkpoint.ts";
import { decodeCheckpoint, decodeWith } from "../src/ledger/decode/decode.ts";
import { type Figure, median, ratioOf, shown } from "./figure.ts";
import { decodeByLibrary } from "./library-decoding.ts";

/** Enough for every kind of action. */
const CHECKPOINTS = 400;

/** Measured rounds after warm-up; the median counts. */
const ROUNDS = 9;
const WARM_UP = 3;

/** Trusts every digest, as the library does. */
const UNCHECKED: Parameters<typeof decodeWith>[1] = { inputs: false, claim: () => {} };

/** Decodings per second, ours and the library's, interleaved so that load affects both. */
export const bench = async (): Promise<Figure> => {
  const ledger = createDemoLedger({ seed: "bench" });
  const inputs = Array.from({ length: CHECKPOINTS }, (): RawCheckpoint => {
    const next = ledger.next();
    return { sequence: next.sequence, encoding: "protobuf", bytes: next.raw("protobuf") };
  });
  for (const raw of inputs) {
    if (!isDeepStrictEqual(inOrder(decodeByLibrary(raw.bytes)), inOrder(decodeCheckpoint(raw)))) {
      throw new Error(`checkpoint ${raw.sequence}: the two decoders disagree`);
    }
  }

  const timed = (decode: () => void): number => {
    const started = performance.now();
    decode();
    return performance.now() - started;
  };
  const rounds = Array.from({ length: WARM_UP + ROUNDS }, () => ({
    library: timed(() => {
      for (const raw of inputs) decodeByLibrary(raw.bytes);
    }),
    ours: timed(() => {
      for (const raw of inputs) decodeWith(raw, UNCHECKED);
    }),
    checked: timed(() => {
      for (const raw of inputs) decodeCheckpoint(raw);
    }),
  })).slice(WARM_UP);

  const bytes = inputs.reduce((sum, raw) => sum + raw.bytes.length, 0);
  const rates = (side: "ours" | "library" | "checked") =>
    rounds.map((round) => CHECKPOINTS / (round[side] / 1_000));
  return {
    name: "decoding",
    what: "Decoding: checkpoints a second / `@mysten/sui` to the same values, neither checking digests",
    ...ratioOf("/s", rates("ours"), rates("library")),
    ...{ better: "more", aim: 10 },
    detail:
      `${CHECKPOINTS} checkpoints of the demo as protobuf, ${(bytes / 1e6).toFixed(1)} MB: ` +
      `with every digest recomputed ${shown(median(rates("checked")), "/s")}`,
  };
};

/** The library orders objects by effects, ours by digests. */
const inOrder = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  transactions: checkpoint.transactions.map((transaction) => ({
    ...transaction,
    events: transaction.events.map((event) => ({ ...event, contents: plain(event.contents) })),
    outputObjects: transaction.outputObjects
      .map((object) => ({ ...object, contents: plain(object.contents) }))
      .toSorted(byId),
    removedObjects: transaction.removedObjects.toSorted(byId),
    // The library's decoding leaves them out; their cost is negligible.
    packages: [],
  })),
});

const byId = (a: { readonly id: string }, b: { readonly id: string }): number =>
  a.id < b.id ? -1 : 1;

/** A Buffer and a Uint8Array of equal bytes are not strictly equal. */
const plain = (bytes: Uint8Array): Uint8Array => Uint8Array.from(bytes);
