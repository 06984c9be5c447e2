/** A statement as the service makes it, of a table of rows that were made up. */

import { canonicalJson } from "../../client/canonical-json.mjs";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.mjs";
import { type Statement, signedRoot, signedStatement } from "../../client/verify-statement.mjs";
import { createSumTree, type Leaf } from "../../src/projections/merkle-sum.ts";

const COIN = `0x${"5".padStart(64, "0")}::acme::ACME`;

const { publicKey, secretKey } = generateKeyPair();
const secret = secretKeyOf(secretKey);

const sign = (signed: ReturnType<typeof signedRoot | typeof signedStatement>) =>
  signBytes(Buffer.from(canonicalJson(signed)), secret);

/** Rows of 1,000 each, less one for each row before. */
const leafAt = (index: number): Leaf => ({
  coinType: COIN,
  checkpoint: 7n,
  holderId: index % 3 === 2 ? null : BigInt(index),
  addresses: [
    `0x${index.toString(16).padStart(64, "0")}`,
    ...(index % 3 === 2 ? [] : [`0x${"f".repeat(63)}${index % 10}`]),
  ],
  balance: BigInt(1_000 - index),
  tokens: BigInt(990 - index),
  granted: 10n,
});

/** The statement of one row of so many; `changed` makes another row of it, which is signed as well. */
export const statementOf = (
  index: number,
  rows: number,
  changed: (leaf: Leaf) => Leaf = (leaf) => leaf,
): Statement => {
  const tree = createSumTree();
  const proven = changed(leafAt(index));
  for (let n = 0; n < rows; n += 1) tree.add(n === index ? proven : leafAt(n), n === index);
  const { root, path = [] } = tree.top();
  const sum = Array.from({ length: rows }, (_, n) => 1_000 - n).reduce((a, b) => a + b, 0);
  const { holderId, addresses, balance, tokens, granted } = proven;
  const digits = ((balance * 10n ** 12n) / BigInt(sum)).toString().padStart(13, "0");
  const head = {
    chainId: "5Zd…chain",
    coinType: COIN,
    checkpoint: "7",
    checkpointDigest: "8b1…digest",
    root,
    total: `${sum}`,
  };
  const unsigned = {
    format: "holderbook-statement" as const,
    version: 1 as const,
    ...head,
    decimals: 6,
    checkpointTimestamp: "1700000000",
    row: {
      holderId: holderId?.toString() ?? null,
      wallets: addresses.map((address, n) => ({
        address,
        balance: n === 0 ? `${balance}` : "0",
        groupId: n === 0 ? "1" : null,
        isFrozen: n === 0,
      })),
      balance: `${balance}`,
      tokens: `${tokens}`,
      granted: `${granted}`,
      unlocked: "4",
      locked: "6",
      share: `${digits.slice(0, -12)}.${digits.slice(-12)}`,
    },
    path: path.map((step) => ({ ...step, sum: `${step.sum}` })),
    totalSupply: `${sum}`,
    keyId: "dep_1",
    publicKey,
    rootSignature: sign(signedRoot(head)),
  };
  return { ...unsigned, signature: sign(signedStatement(unsigned)) };
};
