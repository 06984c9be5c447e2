import { decodeExcerpt, noVerifier } from "../../../src/ledger/decode/decode.ts";
import { type Staging, stagedAfter } from "../../../src/ledger/guided/staging.ts";
import { createWanted, factsOf } from "../../../src/ledger/reading/facts.ts";
import { createCheckpointReader } from "../../../src/ledger/reading/read.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import type { ListedDemo } from "../history/listed-demo.ts";

/** Facts of the contract's coins, as an exhaustive reading has them. */
export const factsOfContract = (ledger: ListedDemo): readonly ReadFact[] => {
  const coinTypes = new Set(ledger.demo.coinTypes.map(({ coinType }) => coinType));
  const read = createCheckpointReader(ledger.demo.packages);
  const facts: ReadFact[] = [];
  for (let sequence = 0n; sequence <= ledger.newest(); sequence += 1n) {
    const bytes = ledger.checkpoint(sequence);
    const all = read({ sequence, encoding: "protobuf", bytes }).facts;
    facts.push(...all.filter(({ coinType }) => coinType === null || coinTypes.has(coinType)));
  }
  return facts;
};

/** Facts of staged excerpts. */
export const stagedFacts = async (
  staging: Staging,
  packages: readonly string[],
): Promise<readonly ReadFact[]> => {
  const wanted = createWanted(packages);
  const facts: ReadFact[] = [];
  for await (const { checkpoint, excerpt } of stagedAfter(staging, -1n)) {
    facts.push(
      ...factsOf(decodeExcerpt({ sequence: checkpoint, bytes: excerpt }, wanted, noVerifier)),
    );
  }
  return facts;
};
