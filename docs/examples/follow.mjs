// Copies the registers of all tokens at one checkpoint, and follows the later changes over one connection:
//   node docs/examples/follow.mjs http://localhost:4000 hb_graphql_…
import { createBook } from "holderbook/client";

const [url, key] = process.argv.slice(2);
const book = createBook({ url, key });
const held = new Map();
const placeOf = ({ coinType, owner }) => `${coinType} ${owner}`;

/** By coin type: the last checkpoint before its quarantine. */
const soundThrough = new Map();
const readQuarantines = async () => {
  for (const { quarantined } of await book.status())
    for (const { coinType, checkpoint } of quarantined) soundThrough.set(coinType, checkpoint - 1n);
};

// The copy: every cap table of one checkpoint, which never changes.
const { checkpoint } = await book.meta();
// Used if no token existed at that checkpoint: follow from the beginning.
const BEGINNING = "0:0x0:TOKENS";
let after = BEGINNING;
await readQuarantines();
const coinTypes = new Set();
for await (const { coinType } of book.tokens()) coinTypes.add(coinType);
await readQuarantines();
// Coins in quarantine are not among the tokens. Their copy ends before it, and the cursor names where.
const behind = [];
for (const coinType of coinTypes.union(soundThrough)) {
  const through = soundThrough.get(coinType) ?? checkpoint;
  const isBehind = through < checkpoint;
  const table = await book.capTable({
    coinType,
    at: { checkpoint: isBehind ? through : checkpoint },
  });
  if (isBehind) behind.push(coinType, table?.followCursor ?? BEGINNING);
  // The token did not exist at that checkpoint: all its changes come after the copy.
  if (table === null) continue;
  if (!isBehind) after = table.followCursor;
  for await (const { wallets } of table) {
    for (const { address, balance } of wallets)
      held.set(placeOf({ coinType, owner: address }), balance);
  }
}
after = [after, ...behind].join(" ");
console.log(`copied ${held.size} balances at checkpoint ${checkpoint}`);

const onHold = ({ coinType, checkpoint: from, reason }) =>
  console.log(`${coinType} is in quarantine from checkpoint ${from} on: ${reason}`);

// The changes after it: all coins, in chain order, each change once; those of a coin in quarantine after its release. To
// resume later, store the last cursor together with the copy.
for await (const change of book.balanceChanges({ after, onHold })) {
  const place = placeOf(change);
  held.set(place, (held.get(place) ?? 0n) + change.change);
  console.log(`${change.checkpoint} ${place} ${held.get(place)}`);
}
