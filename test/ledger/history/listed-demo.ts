import { createDemoLedger, type DemoLedger, type DemoOptions } from "../../../demo/demo-ledger.ts";
import { type ListedLedger, Listing } from "./listed-ledger.ts";

export type ListedDemo = ListedLedger & {
  readonly demo: DemoLedger;
  /** Makes `count` further checkpoints. */
  readonly make: (count: number) => void;
};

/** A demo ledger of `count` checkpoints, in memory, with its lists. */
export const listedDemo = (options: DemoOptions, count: number): ListedDemo => {
  const demo = createDemoLedger(options);
  const listing = new Listing();
  const checkpoints: Uint8Array[] = [];
  const ends: bigint[] = [];
  const make = (further: number): void => {
    for (let made = 0; made < further; made += 1) {
      const { epoch } = demo;
      const { sequence, raw } = demo.next();
      const bytes = raw("protobuf");
      checkpoints.push(bytes);
      listing.add(sequence, bytes);
      if (demo.epoch > epoch) ends.push(sequence);
    }
  };
  make(count);
  return {
    demo,
    make,
    chainId: demo.chainId,
    newest: () => BigInt(checkpoints.length) - 1n,
    checkpoint: (sequence) => {
      const bytes = checkpoints[Number(sequence)];
      if (bytes === undefined) throw new RangeError(`no checkpoint ${sequence}`);
      return bytes;
    },
    listed: (key) => listing.listed(key),
    placeOf: (digest) => listing.placeOf(digest),
    headOf: (id) => listing.headOf(id),
    epochEnd: (epoch) => ends[Number(epoch)],
    metadataOf: (coinType) => listing.metadataOf(coinType),
  };
};
