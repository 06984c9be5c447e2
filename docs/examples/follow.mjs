// Copies the registers of all tokens at one checkpoint, and follows the later changes over one connection:
//   node docs/examples/follow.mjs http://localhost:4000 hb_graphql_…
import { createBook } from "holderbook/client";

const [url, key] = process.argv.slice(2);
const book = createBook({ url, key });
const held = new Map();
const placeOf = ({ coinType, owner }) => `${coinType} ${owner}`;

// The copy: every cap table of one checkpoint, which never changes.
const { checkpoint } = await book.meta();
// Used if no token existed at that checkpoint: follow from the beginning.
let after = "0:0x0:TOKENS";
for await (const { coinType } of book.tokens()) {
  const table = await book.capTable({ coinType, at: { checkpoint } });
  // The token did not exist at that checkpoint: all its changes come after the copy.
  if (table === null) continue;
  after = table.followCursor;
  for await (const { wallets } of table) {
    for (const { address, balance } of wallets)
      held.set(placeOf({ coinType, owner: address }), balance);
  }
}
console.log(`copied ${held.size} balances at checkpoint ${checkpoint}`);

// The changes after it: all coins, in chain order, each change once. To resume later, store the last cursor together
// with the copy.
for await (const change of book.balanceChanges({ after })) {
  const place = placeOf(change);
  held.set(place, (held.get(place) ?? 0n) + change.change);
  console.log(`${change.checkpoint} ${place} ${held.get(place)}`);
}
