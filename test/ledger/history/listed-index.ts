import type { LedgerIndex, Touch } from "../../../src/ledger/history/ledger-index.ts";
import { HONEST, type Lies, lyingLedger } from "./lies.ts";
import type { ListedLedger } from "./listed-ledger.ts";

const KEYS: Readonly<Record<Touch["kind"], string>> = {
  events: "event",
  calls: "call",
  object: "object",
};

/** A ledger's lists in memory, without a server in between: for readings by the thousand. */
export const listedIndex = (ledger: ListedLedger, lies: Lies = HONEST): LedgerIndex => {
  const shown = lyingLedger(ledger, lies);
  return {
    description: "lists in memory",
    chainId: async () => ledger.chainId,
    newest: async () => ledger.newest(),
    covers: async () => ({ first: 0n, last: ledger.newest() }),
    touching: async function* (what, { first, last }) {
      const found = new Set<bigint>();
      for (const { kind, address } of what) {
        for (const { checkpoint } of shown.listed(`${KEYS[kind]} ${address}`)) {
          if (checkpoint >= first && checkpoint <= last) found.add(checkpoint);
        }
      }
      yield* found;
    },
    heads: async (ids) => new Map(ids.map((id) => [id, shown.headOf(id) ?? null])),
    checkpointOf: async (digest) => shown.placeOf(digest)?.checkpoint ?? null,
    epochEnd: async (epoch) => ledger.epochEnd(epoch) ?? null,
    metadataOf: async (coinType) => {
      const id = ledger.metadataOf(coinType);
      return id === undefined ? [] : [id];
    },
    close: async () => {},
  };
};
