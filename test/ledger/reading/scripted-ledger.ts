import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../../src/ledger/decode/cursor.ts";
import type { CheckpointReader } from "../../../src/ledger/reading/read.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import type { CoinDecimals, ReadFact } from "../../../src/log/fact.ts";
import { fact, mark } from "../../log/facts.ts";

/** Facts of a checkpoint, always the same: most have none, some a few, a few many. */
export const scriptedFacts = (sequence: bigint): readonly ReadFact[] => {
  const many = sequence % 37n === 0n ? 60 : sequence % 3n === 0n ? 2 : 0;
  return Array.from({ length: many }, (_, transaction) =>
    fact(sequence, transaction, { kind: transaction % 2 === 0 ? "event" : "object" }),
  );
};

/** A ledger of scripted checkpoints that a test extends, damages and breaks while it is read. */
export const createScriptedLedger = (options: { newest: bigint; chainId?: string | null }) => {
  const changed = new Set<() => void>();
  const ledger = {
    newest: options.newest,
    /** Decimals that metadata in a checkpoint gives, by checkpoint. */
    coins: new Map<bigint, readonly CoinDecimals[]>(),
    /** Checkpoints whose bytes are damaged, and how many times more they will be. */
    damaged: new Map<bigint, number>(),
    /** Called before a checkpoint is delivered; may wait or throw. */
    before: async (_sequence: bigint): Promise<void> => {},
    /** The digest a checkpoint names as that of the one before it; a faithful ledger leaves it alone. */
    follows: (sequence: bigint): string | null =>
      sequence === 0n ? null : mark(sequence - 1n).digest,
    /** What the delivered number is made of it; a faithful ledger leaves it alone. */
    deliveredAs: (sequence: bigint): bigint | "end" => sequence,
    chainId: options.chainId === undefined ? "chain-a" : options.chainId,
    /** Every first checkpoint the source was opened with. */
    openedAt: [] as bigint[],
    grow: (count = 1n) => {
      ledger.newest += count;
      for (const wake of changed) wake();
    },
  };

  const grown = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      changed.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });

  const source: CheckpointSource = {
    description: "scripted",
    chainId: async () => ledger.chainId,
    latest: async () => ledger.newest,
    checkpoints: async function* ({ first, last }, signal) {
      ledger.openedAt.push(first);
      for (let next = first; last === undefined || next <= last; next += 1n) {
        while (next > ledger.newest && !signal.aborted) await grown(signal);
        if (signal.aborted) return;
        await ledger.before(next);
        const sequence = ledger.deliveredAs(next);
        if (sequence === "end") return;
        yield rawOf(sequence);
      }
    },
    close: async () => {},
  };

  const rawOf = (sequence: bigint): RawCheckpoint => {
    const left = ledger.damaged.get(sequence) ?? 0;
    if (left > 0) ledger.damaged.set(sequence, left - 1);
    return { sequence, encoding: "bcs", bytes: Uint8Array.from([left > 0 ? 0xff : 1]) };
  };

  /** Stands for the decoder: refuses damaged bytes, says what the script says of the others. */
  const read: CheckpointReader = ({ sequence, bytes }) => {
    if (bytes[0] !== 1) throw new CheckpointDecodeError(sequence, 0, "damaged");
    const facts = scriptedFacts(sequence);
    const coins = ledger.coins.get(sequence) ?? [];
    const previousDigest = ledger.follows(sequence);
    return {
      mark: mark(sequence),
      previousDigest,
      facts,
      coins,
      joined: [],
      skipped: facts.length === 0,
    };
  };

  return Object.assign(ledger, { source, read });
};
