import { expect, test } from "vitest";
import { readSearch } from "../../src/graphql/search-text.ts";
import { shortened } from "../../web/src/shown/shorten.ts";

const WALLET = `0x4347${"0".repeat(56)}c55f`;
const DIGEST = "8CXWgULVNEYPQ5UE7V5b3r2mNfwGvb3Y5ZVNRqkfs1dP";

test.each([
  [WALLET, { wallets: [{ from: WALLET, tail: "" }] }],
  [shortened(WALLET), { wallets: [{ from: "0x4347", tail: "c55f" }] }],
  ["0x4347...C55F", { wallets: [{ from: "0x4347", tail: "c55f" }] }],
  [
    "0X4347".toLowerCase(),
    { wallets: [{ from: expect.stringMatching(/^0x0+4347$/) }, { from: "0x4347", tail: "" }] },
  ],
  // A short address whole, too short for a beginning.
  ["0x2", { wallets: [{ from: expect.stringMatching(/^0x0+2$/), tail: "" }] }],
  [DIGEST, { transactions: { from: DIGEST, tail: "" } }],
  [DIGEST.slice(0, 6), { transactions: { from: "8CXWgU", tail: "" } }],
  [shortened(DIGEST), { transactions: { from: "8CXWgU", tail: "s1dP" } }],
  [`${DIGEST}-7`, { event: { txDigest: DIGEST, eventSeq: 7 } }],
  ["Holder 16", { holderId: 16n }],
  ["#16", { holderId: 16n, checkpoint: 16n }],
  ["16", { holderId: 16n, checkpoint: 16n, token: "16", label: "16" }],
  ["checkpoint 184220931", { checkpoint: 184220931n }],
  ["2026-11-24", { endSecond: 1795564799n }],
  ["2026-11-24T10:30Z", { endSecond: 1795516259n }],
  ["2026-11-24 10:30:05 UTC", { endSecond: 1795516205n }],
  ["0x2::acme::ACME", { coinType: "0x2::acme::ACME" }],
  [" Jane  Doe ", { token: "Jane Doe", label: "Jane Doe" }],
])("%s is read as what it may mean", (text, sought) => {
  expect(readSearch(text)).toMatchObject(sought);
});

test.each([
  "2026-02-30",
  "2026-11-24T25:00Z",
  "99999999999999999999999",
  "checkpoint 99999999999999999999",
])("%s is neither a date nor a number", (text) => {
  const { endSecond, holderId, checkpoint } = readSearch(text);
  expect({ endSecond, holderId, checkpoint }).toEqual({});
});

test.each(["", "   ", "x".repeat(201), "a\u0000b", "\ud800"])("%j is refused", (text) => {
  expect(() => readSearch(text)).toThrow(/^text must/);
});
