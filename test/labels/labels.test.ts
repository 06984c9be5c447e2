/** Labels in the database: versions, sealing, erasure. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GivenLabel } from "../../src/labels/label.ts";
import {
  type LabelKeys,
  labelHistory,
  labelsOf,
  listLabels,
  lostLabelKeys,
  subjectName,
} from "../../src/labels/read.ts";
import { eraseLabelsSealedWith, hasSealedLabels, resealLabels } from "../../src/labels/reseal.ts";
import { NoSealingKeyError, removeLabel, setLabels } from "../../src/labels/write.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const COIN = `0x${"a".repeat(64)}::acme::ACME`;
const keys = ringOf([{ id: "new", key: randomBytes(32) }]);
const withKeys = async () => keys;

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const holder = (subject: string, text: string, isSealed = false): GivenLabel => ({
  kind: "HOLDER",
  coinType: COIN,
  subject,
  text,
  isSealed,
});

const set = (given: readonly GivenLabel[], by = "jo") => setLabels(database, keys, given, by);

const labelOf = async (label: GivenLabel, ring: LabelKeys = withKeys) =>
  (await labelsOf(database, ring, [label])).get(subjectName(label));

/** All that the tables hold, as a backup would. */
const stored = async () =>
  JSON.stringify([
    await database.sql`select to_jsonb(labels)::text from labels`,
    await database.sql`select word from label_words`,
  ]);

test("a change of a label keeps what it was, who gave it and when", async () => {
  expect(await set([holder("1", "Jane")])).toEqual({ set: 1, unchanged: 0 });
  expect(await set([holder("1", "Jane"), holder("2", "Joe")], "key_1")).toEqual({
    set: 1,
    unchanged: 1,
  });
  expect(await set([holder("1", "Jane Doe")], "key_1")).toEqual({ set: 1, unchanged: 0 });
  const label = await labelOf(holder("1", ""));
  expect(label).toMatchObject({ text: "Jane Doe", by: "key_1", isSealed: false });
  const history = await labelHistory(database.sql, withKeys, holder("1", ""));
  expect(history).toMatchObject([
    { text: "Jane Doe", by: "key_1", endedBy: null, endedAt: null },
    { text: "Jane", by: "jo", endedBy: "key_1", endedAt: expect.stringMatching(/Z$/) },
  ]);
});

test("a sealed label is nowhere in the clear, also where it was before", async () => {
  await set([holder("3", "Ferdinand Ossietzky")]);
  expect(await stored()).toMatch(/Ferdinand Ossietzky.*ossietzky/s);
  await set([holder("3", "Ferdinand Ossietzky", true)]);
  expect(await stored()).not.toMatch(/ossietzky/i);
  expect(await labelOf(holder("3", ""))).toMatchObject({
    text: "Ferdinand Ossietzky",
    isSealed: true,
  });
  // Sealed again with another nonce, it is still the same label.
  expect(await set([holder("3", "Ferdinand Ossietzky", true)])).toEqual({ set: 0, unchanged: 1 });
});

test("without its key a sealed label has no text, and none can be sealed", async () => {
  await set([holder("4", "Secret", true)]);
  const without = async () => undefined;
  expect(await labelOf(holder("4", ""), without)).toMatchObject({ text: null, isSealed: true });
  const other = async () => ringOf([{ id: "new", key: randomBytes(32) }]);
  expect(await labelOf(holder("4", ""), other)).toMatchObject({ text: null, isSealed: true });
  const before = await stored();
  await expect(
    setLabels(database, undefined, [holder("4", "plain"), holder("5", "x", true)], "jo"),
  ).rejects.toThrow(NoSealingKeyError);
  expect(await stored()).toBe(before);
});

test("a removed label leaves who and when, and texts neither of a sealed nor of an erased one", async () => {
  await set([holder("6", "Rosa"), holder("7", "Karl", true), holder("8", "Clara")]);
  for (const [subject, erase] of [
    ["6", false],
    ["7", false],
    ["8", true],
  ] as const) {
    const id = (await labelOf(holder(subject, "")))?.id ?? 0n;
    expect(await removeLabel(database, { id, by: "key_2", erase })).toBe(true);
    expect(await removeLabel(database, { id, by: "key_2", erase })).toBe(false);
    expect(await labelOf(holder(subject, ""))).toBeUndefined();
  }
  const texts = await Promise.all(
    ["6", "7", "8"].map(async (subject) => {
      const [version] = await labelHistory(database.sql, withKeys, holder(subject, ""));
      return version;
    }),
  );
  expect(texts).toMatchObject([
    { text: "Rosa", endedBy: "key_2" },
    { text: null, isSealed: true, endedBy: "key_2" },
    { text: null, isSealed: false, endedBy: "key_2" },
  ]);
  const left = await database.sql`
    select 1 from labels where subject in ('7', '8') and (sealed is not null or mark is not null)`;
  expect(left).toHaveLength(0);
});

test("a list of one coin has its labels and those of wallets, page by page", async () => {
  const wallet = { ...holder("0x4", "Cold storage"), kind: "WALLET", coinType: "" } as const;
  await set([{ ...holder("1", "Elsewhere"), coinType: `${COIN}2` }, wallet, holder("9", "Last")]);
  const all = await listLabels(database, withKeys, { limit: 100 });
  const ofCoin = all.filter(({ coinType }) => coinType !== `${COIN}2`);
  expect(ofCoin.length).toBe(all.length - 1);
  const paged = [];
  for (let after = 0n; ; ) {
    const page = await listLabels(database, withKeys, { coinType: COIN, after, limit: 2 });
    paged.push(...page);
    if (page.length < 2) break;
    after = page.at(-1)?.id ?? 0n;
  }
  expect(paged).toEqual(ofCoin);
});

test("a new key seals every label again, and still finds them whole", async () => {
  const old = { id: "old", key: randomBytes(32) };
  const sealing = ringOf([old]);
  await setLabels(database, sealing, [holder("20", "Erich Kästner", true)], "jo");
  await setLabels(database, sealing, [holder("20", "Erich Kaestner", true)], "jo");
  const both = ringOf([keys.current, old]);
  expect(await resealLabels(database, both)).toBe(2);
  expect(await resealLabels(database, both)).toBe(0);
  expect(await labelOf(holder("20", ""))).toMatchObject({ text: "Erich Kaestner" });
  const history = await labelHistory(database.sql, withKeys, holder("20", ""));
  expect(history.map(({ text }) => text)).toEqual(["Erich Kaestner", "Erich Kästner"]);
});

test("labels sealed with a lost key can be erased", async () => {
  const lost = ringOf([{ id: "lost", key: randomBytes(32) }]);
  await setLabels(database, lost, [holder("21", "Nelly", true)], "jo");
  expect(await resealLabels(database, keys)).toBe(0);
  expect(await eraseLabelsSealedWith(database.sql, "lost", "jo")).toBe(1);
  expect(await labelOf(holder("21", ""))).toBeUndefined();
  expect(await hasSealedLabels(database.sql)).toBe(true);
});

test("a key of sealed texts that a process lacks is named with how many it seals", async () => {
  await using own = await freshDatabase();
  expect(await lostLabelKeys(own, async () => undefined)).toEqual([]);
  const [former, renewed] = ["former", "renewed"].map((id) => ({ id, key: randomBytes(32) }));
  if (former === undefined || renewed === undefined) throw new Error("two keys");
  const under = (key: typeof former, subject: string) =>
    setLabels(own, ringOf([key]), [holder(subject, "Jane Doe", true)], "jo");
  await under(former, "1");
  await under(former, "2");
  await under(renewed, "3");
  await setLabels(own, undefined, [holder("4", "Joe")], "jo");
  const lost = (...known: readonly (typeof former)[]) =>
    lostLabelKeys(own, async () => ringOf([...known]));
  expect(await lost(renewed, former)).toEqual([]);
  expect(await lost(renewed)).toEqual([{ keyId: "former", labels: 2 }]);
  // Another key of the same name.
  const other = { id: "renewed", key: randomBytes(32) };
  expect(await lost(former, other)).toEqual([{ keyId: "renewed", labels: 1 }]);
});
