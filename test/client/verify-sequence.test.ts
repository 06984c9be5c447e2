import { expect, test } from "vitest";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.ts";
import { entryHash, type SequenceEntry, verifySequence } from "../../client/verify-sequence.ts";
import { keyIdOf } from "../../src/audit/sequence/deployment-key.ts";

type Keys = ReturnType<typeof generateKeyPair>;
type Kind = SequenceEntry["kind"];

const coinType = `0x${"5".padStart(64, "0")}::acme::ACME`;
const root = (checkpoint: string, sign = "a") => ({
  chainId: "c1",
  coinType,
  checkpoint,
  root: sign.repeat(64),
  total: "9",
});
const head = (checkpoint: string, sign = "b") => ({
  chainId: "c1",
  checkpoint,
  hash: sign.repeat(64),
});

const signed = (keys: Keys, entry: Omit<SequenceEntry, "keyId" | "signature">): SequenceEntry => {
  const bytes = Buffer.from(canonicalJson({ purpose: "holderbook-sequence-v1", ...entry }));
  return { ...entry, keyId: "dep_1", signature: signBytes(bytes, secretKeyOf(keys.secretKey)) };
};

/** A sequence of these bodies, all signed, as the deployment makes it. */
const sequenceOf = async (
  keys: Keys,
  said: readonly (readonly [Kind, Record<string, JsonValue>, Keys?, string?])[],
): Promise<readonly SequenceEntry[]> => {
  const entries: SequenceEntry[] = [];
  let previous = "0".repeat(64);
  const first = ["key", { keyId: "dep_1", publicKey: keys.publicKey }] as const;
  for (const [number, [kind, body, by = keys, dated]] of [first, ...said].entries()) {
    const at = dated ?? `2026-01-01T00:00:0${number}.000Z`;
    const entry = signed(by, { number: `${number}`, previous, kind, body, at });
    previous = await entryHash(entry);
    entries.push(entry);
  }
  return entries;
};

const keys = generateKeyPair();
const { publicKey } = keys;
const text = (entries: readonly object[]) =>
  entries.map((entry) => JSON.stringify(entry)).join("\n");

test("kept entries verify, whole or with gaps, and across a key named by its predecessor", async () => {
  const next = generateKeyPair();
  const entries = await sequenceOf(keys, [
    ["head", head("4")],
    ["root", root("4")],
    ["key", { keyId: "dep_2", publicKey: next.publicKey }],
    ["head", head("8"), next],
  ]);
  const all = await verifySequence(`${text(entries)}\n`, { publicKey });
  expect(all).toMatchObject({ whole: true, publicKey: next.publicKey, last: { number: "4" } });
  const some = await verifySequence(
    entries.filter(({ number }) => number !== "1"),
    { publicKey },
  );
  expect(some.whole).toBe(false);
  await expect(verifySequence(entries, { publicKey: next.publicKey })).rejects.toThrow(
    "entry 0 is not signed with the key",
  );
  // Nobody said that this key takes over.
  const taken = entries.filter(({ kind }) => kind !== "key");
  await expect(verifySequence(taken, { publicKey })).rejects.toThrow("entry 4 is not signed");
});

test("entries of an unreachable key are skipped on request, and verified where the hash chain leads to a known entry", async () => {
  const next = generateKeyPair();
  const entries = await sequenceOf(keys, [
    ["head", head("4")],
    ["key", { keyId: "dep_2", publicKey: next.publicKey }],
    ["head", head("8"), next],
    ["head", head("9"), next],
  ]);
  const known = { publicKey: next.publicKey, otherKeys: "passed over" } as const;
  const numbers = async (kept: readonly SequenceEntry[]) => {
    const { entries: shown, notShown } = await verifySequence(kept, known);
    return [shown, notShown].map((some) => some.map(({ number }) => number).join(" "));
  };
  expect(await numbers(entries)).toEqual(["0 1 2 3 4", ""]);
  const without = (...left: readonly string[]) =>
    entries.filter(({ number }) => !left.includes(number));
  expect(await numbers(without("3"))).toEqual(["4", "0 1 2"]);
  expect(await numbers(without("1"))).toEqual(["2 3 4", "0"]);
  expect((await verifySequence(without("3"), known)).whole).toBe(false);
  // Of the key that is known from the first on, a later one that none named.
  const unnamed = { publicKey, otherKeys: "passed over" } as const;
  expect((await verifySequence(without("2"), unnamed)).notShown).toHaveLength(2);
  // One that claims to be of the known key.
  const claimed = entries.map((entry) =>
    entry.number === "1" ? { ...entry, keyId: keyIdOf(next.publicKey) } : entry,
  );
  await expect(verifySequence(claimed, known)).rejects.toThrow("entry 1 is not signed with");
  const exchanged = entries.map((entry) => (entry.number === "2" ? entries[1] : entry));
  await expect(verifySequence(exchanged, known)).rejects.toThrow("comes behind entry 1");
  const edited = entries.map((entry) =>
    entry.number === "2" ? { ...entry, at: "2026-01-01T00:00:02.500Z" } : entry,
  );
  await expect(verifySequence(edited, known)).rejects.toThrow("entry 3 does not have the hash");
});

test("an entry that was backdated, swapped or signed in place of another is refused", async () => {
  const entries = await sequenceOf(keys, [
    ["head", head("4")],
    ["root", root("4")],
    ["head", head("8")],
  ]);
  const changed = (number: number, change: Partial<SequenceEntry>) =>
    entries.map((entry) => (entry.number === `${number}` ? { ...entry, ...change } : entry));
  const backdated = { at: "2020-01-01T00:00:00.000Z" };
  await expect(verifySequence(changed(2, backdated), { publicKey })).rejects.toThrow(
    "entry 2 is not signed",
  );
  // By one who can sign.
  const anew = entries.map(({ keyId: _, signature: __, ...entry }) =>
    signed(keys, entry.number === "2" ? { ...entry, at: "2026-01-01T00:00:01.500Z" } : entry),
  );
  await expect(verifySequence(anew, { publicKey })).rejects.toThrow(
    "entry 3 does not have the hash of the one before",
  );
  const two = [
    ["root", root("4")],
    ["root", root("4", "c")],
  ] as const;
  await expect(verifySequence(await sequenceOf(keys, two), { publicKey })).rejects.toThrow(
    "entry 2 says something else of checkpoint 4 than entry 1",
  );
  // A log that was read anew has other heads; roots stay.
  const corrected = [
    ["head", head("4")],
    ["correction", { of: "log", why: "read anew" }],
    ["head", head("4", "c")],
  ] as const;
  expect(await verifySequence(await sequenceOf(keys, corrected), { publicKey })).toMatchObject({
    whole: true,
  });
  await expect(verifySequence(entries.toReversed(), { publicKey })).rejects.toThrow("comes behind");
});

test("an entry dated before one with a lower number is refused, even if everything is signed", async () => {
  const entries = await sequenceOf(keys, [
    ["head", head("4")],
    ["head", head("8"), keys, "2025-12-31T23:59:59.999Z"],
  ]);
  const dated = "entry 2 is dated 2025-12-31T23:59:59.999Z, before entry";
  await expect(verifySequence(entries, { publicKey })).rejects.toThrow(`${dated} 1`);
  // With entries left out between the two.
  const some = entries.filter(({ number }) => number !== "1");
  await expect(verifySequence(some, { publicKey })).rejects.toThrow(`${dated} 0`);
});

test.each<[string, unknown]>([
  ["no entries", ""],
  ["line 1 is no JSON", "{"],
  ["it must be an object", [7]],
  ["it has the unknown member", [{ "\u001b[31m": 1 }]],
  ["number must be a whole number below 2^128, as a text", [{ number: "007" }]],
  ["number must be a whole number below 2^128, as a text", [{ number: 7 }]],
])("what is no entry is refused, with words for a terminal: %s", async (message, kept) => {
  const given = typeof kept === "string" || Array.isArray(kept) ? kept : [];
  const refused = await verifySequence(given, { publicKey }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    name: "SequenceError",
    message: expect.stringContaining(message),
  });
  expect(`${refused}`).not.toContain("\u001b");
});

test("a coin type in another spelling is refused even if it is signed", async () => {
  const spelt = { ...root("4"), coinType: coinType.replace("0x", "0X") };
  const entries = await sequenceOf(keys, [["root", spelt]]);
  await expect(verifySequence(entries, { publicKey })).rejects.toThrow("body.coinType must be");
});
