import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { CheckpointPrunedError } from "../../../src/ledger/sources/source-errors.ts";
import type { ListedLedger } from "../history/listed-ledger.ts";

/** A ledger in memory as a source; counts what it hands out, and withholds some. */
export const listedSource = (ledger: ListedLedger, withheld: ReadonlySet<bigint> = new Set()) => {
  const given: bigint[] = [];
  const source: CheckpointSource = {
    description: "a ledger in memory",
    chainId: async () => ledger.chainId,
    latest: async () => ledger.newest(),
    checkpoints: async function* ({ first, last = ledger.newest() }) {
      for (let sequence = first; sequence <= last; sequence += 1n) {
        if (withheld.has(sequence)) {
          throw new CheckpointPrunedError("a ledger in memory", sequence, ledger.newest());
        }
        given.push(sequence);
        const raw: RawCheckpoint = {
          sequence,
          encoding: "protobuf",
          bytes: ledger.checkpoint(sequence),
        };
        yield raw;
      }
    },
    close: async () => undefined,
  };
  return { source, given };
};
