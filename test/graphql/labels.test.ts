/** Labels over GraphQL: shown to keys that see them, and to no others. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/http/keys.ts";
import type { GivenLabel } from "../../src/labels/label.ts";
import { listLabels } from "../../src/labels/read.ts";
import { removeLabel, setLabels } from "../../src/labels/write.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { ACME, ALICE, BOB } from "./rows.ts";

const keys = ringOf([{ id: "new", key: randomBytes(32) }]);

const LABELS: readonly GivenLabel[] = [
  { kind: "HOLDER", coinType: ACME, subject: "7", text: "Jane Doe", isSealed: true },
  { kind: "WALLET", coinType: "", subject: BOB, text: "Cold storage", isSealed: false },
  { kind: "WALLET", coinType: "", subject: ALICE, text: "Jane's phone", isSealed: false },
  { kind: "TREASURY", coinType: ACME, subject: "", text: "Acme treasury", isSealed: false },
];

let api: Api;
let seeing: string;
beforeAll(async () => {
  api = await startApi({ labelKeys: async () => keys });
  await addHistory(api.database);
  await setLabels(api.database, keys, LABELS, "jo");
  const { secret } = await createKey(api.database, { kind: "graphql", seesLabels: true });
  seeing = secret;
});
afterAll(() => api[Symbol.asyncDispose]());

const QUERY = `query ($coin: String!) {
  _meta { seesLabels }
  labels(coinType: $coin) { kind coinType holderId address role text isSealed by }
  capTable(coinType: $coin, atCheckpoint: "20") { rows { holderId label wallets { address label } } }
}`;

const ask = async (key = api.key, query = QUERY) => {
  const { data, text, headers } = await api.query(query, { coin: ACME }, { "x-api-key": key });
  expect(data, text).toBeDefined();
  return { data, text, headers };
};

const SEEN = {
  _meta: { seesLabels: true },
  labels: LABELS.map(({ kind, coinType, subject, text, isSealed }) => ({
    kind,
    coinType: coinType || null,
    holderId: kind === "HOLDER" ? subject : null,
    address: kind === "WALLET" ? subject : null,
    role: null,
    text,
    isSealed,
    by: "jo",
  })),
  capTable: {
    rows: [
      { holderId: null, label: "Cold storage", wallets: [{ address: BOB, label: "Cold storage" }] },
      { holderId: "7", label: "Jane Doe", wallets: [{ address: ALICE, label: "Jane's phone" }] },
    ],
  },
};

test("a key that sees labels has them beside holders and wallets, and in a list", async () => {
  expect((await ask(seeing)).data).toEqual(SEEN);
});

test("no other key gets a hint of them, whatever was answered before and how often", async () => {
  // Interpreted, then compiled, with the register's caches filled by both keys in turn.
  for (let round = 0; round < 3; round += 1) {
    expect((await ask(seeing)).data).toEqual(SEEN);
    const { data, text, headers } = await ask();
    expect(data).toEqual({
      _meta: { seesLabels: false },
      labels: [],
      capTable: {
        rows: [
          { holderId: null, label: null, wallets: [{ address: BOB, label: null }] },
          { holderId: "7", label: null, wallets: [{ address: ALICE, label: null }] },
        ],
      },
    });
    expect(text).not.toMatch(/Jane|Cold|Acme treasury/);
    expect(headers.get("etag")).toBeNull();
  }
  const together = await Promise.all([ask(seeing), ask(), ask(seeing), ask()]);
  expect(together.map(({ text }) => /Jane/.test(text))).toEqual([true, false, true, false]);
});

test("an operator's key sees the transfer agent's name of a holder without a label, other keys do not", async () => {
  const agentNames = async (_on: object, coinType: string, ids: readonly string[]) =>
    new Map(ids.map((id) => [id, `investor ${id} of ${coinType === ACME}`]));
  await using own = await startApi({
    database: api.database,
    labelKeys: async () => keys,
    agentNames,
  });
  const keyOf = async (kind: "graphql" | "operator", seesLabels: boolean) =>
    (await createKey(api.database, { kind, seesLabels })).secret;
  const shown = async (key: string) => {
    const query = `query ($coin: String!) { capTable(coinType: $coin, atCheckpoint: "20") { rows { label } } }`;
    const { data } = await own.query(query, { coin: ACME }, { "x-api-key": key });
    return data?.capTable;
  };
  const rows = (jane: string | null, cold: string | null) => ({
    rows: [{ label: cold }, { label: jane }],
  });
  const jane = (await listLabels(api.database, async () => keys, { limit: 10 })).find(
    ({ kind }) => kind === "HOLDER",
  );
  expect(await shown(await keyOf("operator", true))).toEqual(rows("Jane Doe", "Cold storage"));
  await removeLabel(api.database, { id: jane?.id ?? 0n, by: "jo", erase: false });
  expect(await shown(await keyOf("operator", true))).toEqual(
    rows("investor 7 of true", "Cold storage"),
  );
  expect(await shown(await keyOf("graphql", true))).toEqual(rows(null, "Cold storage"));
  expect(await shown(await keyOf("operator", false))).toEqual(rows(null, null));
  await setLabels(api.database, keys, LABELS, "jo");
});

test("a changed label shows in the next answer", async () => {
  const [jane] = LABELS;
  if (jane === undefined) throw new Error("there are labels");
  await setLabels(api.database, keys, [{ ...jane, text: "Jane Roe" }], "jo");
  expect((await ask(seeing)).text).toContain('"label":"Jane Roe"');
  await setLabels(api.database, keys, [jane], "jo");
});

test("a list of labels is paged by its cursor, and bounded", async () => {
  const page = async (args: string) => {
    const { data, errors } = await api.query(
      `{ labels(${args}) { text cursor } }`,
      {},
      { "x-api-key": seeing },
    );
    return errors?.[0]?.message ?? data?.labels;
  };
  expect(await page("limit: 1")).toMatchObject([{ text: "Cold storage" }]);
  expect(await page("limit: 1001")).toMatch(/limit must be from 1 to 1000/);
  expect(await page('after: "x"')).toMatch(/after must be the cursor/);
});
