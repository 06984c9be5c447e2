/** `search`: whatever the page shows is found when it is pasted, in any form a person may type. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/http/keys.ts";
import type { GivenLabel } from "../../src/labels/label.ts";
import { setLabels } from "../../src/labels/write.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { shortened } from "../../web/src/shown/shorten.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import { ACME, ALICE, activity, addActivity, BOB, timestampMs } from "./rows.ts";

const DIGEST = "8CXWgULVNEYPQ5UE7V5b3r2mNfwGvb3Y5ZVNRqkfs1dP";
const keys = ringOf([{ id: "new", key: randomBytes(32) }]);

const LABELS: readonly GivenLabel[] = [
  { kind: "HOLDER", coinType: ACME, subject: "7", text: "José Álvarez", isSealed: false },
  { kind: "WALLET", coinType: "", subject: BOB, text: "Rosa Ossietzky", isSealed: true },
  {
    kind: "TREASURY",
    coinType: ACME,
    subject: "",
    text: "Alvarez & Sons treasury",
    isSealed: false,
  },
];

let api: Api;
let seeing: string;
beforeAll(async () => {
  api = await startApi({ labelKeys: async () => keys });
  await addHistory(api.database);
  await addActivity(api.database, [activity(20n, { txDigest: DIGEST, index: 3 })]);
  await setLabels(api.database, keys, LABELS, "jo");
  seeing = (await createKey(api.database, { kind: "graphql", seesLabels: true })).secret;
});
afterAll(() => api[Symbol.asyncDispose]());

const QUERY = `query ($text: String!, $limit: Int) {
  search(text: $text, limit: $limit) {
    kind coinType symbol holderId address txDigest eventId checkpoint timestamp label
  }
}`;

/** Hits without the members that are null. */
const search = async (text: string, { key = api.key, limit = 10 } = {}) => {
  const {
    data,
    errors,
    text: body,
  } = await api.query(QUERY, { text, limit }, { "x-api-key": key });
  if (errors !== undefined) return errors[0]?.message;
  const hits = data?.search;
  if (!Array.isArray(hits)) throw new Error(body);
  return hits.map((hit: object) =>
    Object.fromEntries(Object.entries(hit).filter(([, value]) => value !== null)),
  );
};

const seconds = (checkpoint: bigint) => `${timestampMs(checkpoint) / 1000n}`;
const iso = (checkpoint: bigint) => new Date(Number(timestampMs(checkpoint))).toISOString();
const alice = { kind: "WALLET", address: ALICE };
const acme = { kind: "TOKEN", coinType: ACME, symbol: "ACME" };
const holder = { kind: "HOLDER", coinType: ACME, symbol: "ACME", holderId: "7" };
const transaction = {
  kind: "TRANSACTION",
  txDigest: DIGEST,
  checkpoint: "20",
  timestamp: seconds(20n),
};
const { txDigest, ...at } = { ...transaction, kind: "EVENT" };
const event = { ...at, txDigest, coinType: ACME, symbol: "ACME", eventId: `${DIGEST}-3` };

test.each([
  ["a whole wallet", ALICE, [alice]],
  ["a wallet in short form", "0xA11CE".replace("X", "x"), [alice]],
  ["a wallet as the page shortens it", shortened(ALICE), [alice]],
  ["the beginning of a digest", DIGEST.slice(0, 8), [transaction]],
  ["a digest", DIGEST, [transaction]],
  ["a digest as the page shortens it", shortened(DIGEST), [transaction]],
  ["an event's id", `${DIGEST}-3`, [event]],
  ["a holder", "Holder 7", [holder]],
  ["a symbol", "acme", [acme]],
  ["the beginning of a name", "Acme I", [acme]],
  ["a coin type", ACME, [acme]],
  ["a checkpoint", "20", [{ kind: "CHECKPOINT", checkpoint: "20", timestamp: seconds(20n) }]],
  ["a time", iso(20n), [{ kind: "DATE", checkpoint: "20", timestamp: seconds(20n) }]],
  [
    "a day that has not ended",
    iso(20n).slice(0, 10),
    [{ kind: "DATE", checkpoint: `${LAST}`, timestamp: seconds(LAST) }],
  ],
])("%s is found", async (_what, text, expected) => {
  expect(await search(text)).toEqual(expected);
});

test("what names two things has both, each in its group, and what names none has no hit", async () => {
  const both = await search("7");
  const checkpoint = { kind: "CHECKPOINT", checkpoint: "7", timestamp: seconds(7n) };
  expect(both).toEqual([holder, checkpoint]);
  expect(await search("12")).toEqual([
    { kind: "CHECKPOINT", checkpoint: "12", timestamp: seconds(12n) },
  ]);
  for (const none of [
    "0xffff",
    "0x0000…ffff",
    "Holder 8",
    "checkpoint 51",
    "2001-01-01",
    "9999-01-01",
    `${DIGEST}-4`,
    "0x9::no::NO",
    "%",
    "'; select 1; --",
  ]) {
    expect({ none, hits: await search(none, { key: seeing }) }).toEqual({ none, hits: [] });
  }
});

test("labels are found by beginnings of their words, sealed ones whole, by keys that see them", async () => {
  const jose = { ...holder, label: "José Álvarez" };
  const treasury = { ...acme, label: "Alvarez & Sons treasury" };
  const rosa = { kind: "WALLET", address: BOB, label: "Rosa Ossietzky" };
  const seen = (text: string) => search(text, { key: seeing });
  expect(await seen("jose alv")).toEqual([jose]);
  expect(await seen("ÁLVAREZ")).toEqual([jose, treasury]);
  expect(await seen("sons alvarez")).toEqual([treasury]);
  expect(await seen("rosa  ossietzky")).toEqual([rosa]);
  expect(await seen("rosa")).toEqual([]);
  expect(await seen("Holder 7")).toEqual([jose]);
  expect(await seen(shortened(BOB))).toContainEqual(rosa);
  for (const text of ["jose alv", "rosa ossietzky", "alvarez"]) {
    expect(await search(text)).toEqual([]);
  }
  expect(await search("Holder 7")).toEqual([holder]);
});

test("texts and limits out of bounds are refused", async () => {
  expect(await search(" ")).toMatch(/text must not be empty/);
  expect(await search("x".repeat(201))).toMatch(/text must have at most 200 characters/);
  for (const limit of [0, 51]) {
    expect(await search("7", { limit })).toMatch(/limit must be from 1 to 50/);
  }
});
