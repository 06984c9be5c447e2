// Copies the registers of all tokens at one checkpoint, and follows what comes after it, over one connection:
//   node docs/examples/follow.mjs http://localhost:4000 hb_graphql_…
import { createBook } from "holderbook/client";

const [url, key] = process.argv.slice(2);
const book = createBook({ url, key });
const held = new Map();
const placeOf = ({ coinType, owner }) => `${coinType} ${owner}`;

// The copy: every cap table of one checkpoint, which never changes.
const { checkpoint } = await book.meta();
// Where no token was seen by then, everything comes after the copy.
let after = "0:0x0:TOKENS";
for await (const { coinType } of book.tokens()) {
  const table = await book.capTable({ coinType, at: { checkpoint } });
  // Not seen by then: all of it comes after the copy.
  if (table === null) continue;
  after = table.followCursor;
  for await (const { wallets } of table) {
    for (const { address, balance } of wallets)
      held.set(placeOf({ coinType, owner: address }), balance);
  }
}
console.log(`copied ${held.size} balances at checkpoint ${checkpoint}`);

// What comes after it: all coins, in the order of the chain, each change once. A program that goes on another day
// keeps the last cursor together with its copy.
for await (const change of book.balanceChanges({ after })) {
  const place = placeOf(change);
  held.set(place, (held.get(place) ?? 0n) + change.change);
  console.log(`${change.checkpoint} ${place} ${held.get(place)}`);
}
