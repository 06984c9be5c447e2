/** A statement as the service makes it, of a table of rows that were made up. */

import { KEYS } from "../../bin/reference/vectors/vector.ts";
import {
  type Statement1,
  type Statement2,
  signedRoot,
  signedRootEntry,
  signedStatement,
} from "../../client/verify-statement.ts";
import type { CapRow } from "../../src/projections/cap-rows.ts";
import { createSumTree } from "../../src/projections/merkle-sum.ts";

const COIN = `0x${"5".padStart(64, "0")}::acme::ACME`;

/** The same in every run: these statements are test vectors, too. */
const { publicKey, keyId, sign } = KEYS.deployment;

/** Rows of 1,000 each, less one for each row before. */
const rowAt = (index: number): CapRow => {
  const balance = BigInt(1_000 - index);
  const isLone = index % 3 === 2;
  const addresses = [
    `0x${index.toString(16).padStart(64, "0")}`,
    ...(isLone ? [] : [`0x${"f".repeat(63)}${index % 10}`]),
  ];
  return {
    holderId: isLone ? null : BigInt(index),
    wallets: addresses.map((address, n) => ({
      address,
      balance: n === 0 ? balance : 0n,
      groupId: n === 0 ? 1n : null,
      isFrozen: n === 0,
    })),
    balance,
    tokens: balance - 10n,
    granted: 10n,
    unlocked: 4n,
    locked: 6n,
  };
};

const sumOf = (rows: number) =>
  Array.from({ length: rows }, (_, n) => 1_000 - n).reduce((a, b) => a + b, 0);

/** What both versions say. */
const saidOf = ({ holderId, wallets, balance, tokens, granted }: CapRow, rows: number) => {
  const sum = sumOf(rows);
  const digits = ((balance * 10n ** 12n) / BigInt(sum)).toString().padStart(13, "0");
  return {
    format: "holderbook-statement" as const,
    chainId: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S",
    coinType: COIN,
    checkpoint: "7",
    checkpointDigest: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S",
    total: `${sum}`,
    decimals: 6,
    checkpointTimestamp: "1700000000",
    row: {
      holderId: holderId?.toString() ?? null,
      wallets: wallets.map(({ address }, n) => ({
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
    totalSupply: `${sum}`,
    keyId,
    publicKey,
  };
};

/** A statement as it is, signed anew by the same key. */
export const signedAgain = <Of extends Statement1 | Statement2>(statement: Of): Of => {
  const root = statement.version === 2 ? signedRootEntry(statement) : signedRoot(statement);
  const rootSigned = { ...statement, rootSignature: sign(root) };
  return { ...rootSigned, signature: sign(signedStatement(rootSigned)) };
};

/** The statement of one row of so many; `changed` makes another row of it, which is signed as well. */
export const statementOf = (
  index: number,
  rows: number,
  changed: (row: CapRow) => CapRow = (row) => row,
): Statement1 => {
  const tree = createSumTree();
  const proven = changed(rowAt(index));
  for (let n = 0; n < rows; n += 1) {
    const row = n === index ? proven : rowAt(n);
    tree.add({ coinType: COIN, checkpoint: 7n, row }, n === index);
  }
  const { root, path = [] } = tree.top();
  const said = { ...saidOf(proven, rows), version: 1 as const, root };
  const unsigned = {
    ...said,
    path: path.map((step) => ({ ...step, sum: `${step.sum}` })),
    rootSignature: sign(signedRoot(said)),
  };
  return { ...unsigned, signature: sign(signedStatement(unsigned)) };
};

/** The same of version 2; `said` changes what is said of the row, and is signed as well. */
export const statement2Of = (
  index: number,
  rows: number,
  said: (statement: Statement2) => Statement2 = (statement) => statement,
): Statement2 => {
  const tree = createSumTree();
  for (let n = 0; n < rows; n += 1) {
    const leaf = { coinType: COIN, checkpoint: 7n, version: 2 as const, decimals: 6 };
    tree.add({ ...leaf, row: rowAt(n) }, n === index);
  }
  const { root, path = [] } = tree.top();
  const changed = said({
    ...saidOf(rowAt(index), rows),
    version: 2 as const,
    root,
    checkpointTimestampMs: "1700000000999",
    path: path.map((step) => ({ ...step, sum: `${step.sum}` })),
    entry: { number: "17", previous: "ab".repeat(32), at: "2026-07-01T00:00:02.114Z" },
    rootSignature: "",
    signature: "",
  });
  const signed = { ...changed, rootSignature: sign(signedRootEntry(changed)) };
  return { ...signed, signature: sign(signedStatement(signed)) };
};
