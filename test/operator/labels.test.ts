/** `/operator/labels`: given, listed and removed by operators whose keys see labels. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operatorLabelAnswer, operatorLabelsAnswer } from "../../src/operator/answers.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { ACME, knowCoin } from "../graphql/rows.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type OperatorApi, serveOperator } from "./service.ts";

let database: TestDatabase;
let api: OperatorApi;
beforeAll(async () => {
  database = await freshDatabase();
  await knowCoin(database, ACME, 6);
  api = await serveOperator(database, {
    labelKeys: ringOf([{ id: "new", key: randomBytes(32) }]),
  });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

const put = (body: object, key = api.keys.labels) => api.send("PUT", "/operator/labels", body, key);
const jane = { kind: "HOLDER", coinType: ACME, holderId: "16", text: "Jane Doe" };

test("a label that was given is listed, replaced, shown with its history and removed", async () => {
  const given = await put(jane);
  expect(given.json, given.text).toMatchObject({ ...jane, address: null, isSealed: false });
  const again = await put(jane);
  expect(again.json).toEqual(given.json);
  const sealed = await put({
    ...jane,
    coinType: ACME.toUpperCase().replace("0X", "0x"),
    text: "Jane Roe",
    isSealed: true,
  });
  expect(sealed.json, sealed.text).toMatchObject({
    coinType: ACME,
    text: "Jane Roe",
    isSealed: true,
  });
  await put({ kind: "WALLET", address: "0x4", text: "Cold storage" });

  const page = await api.get(`/operator/labels?limit=1&coinType=${ACME}`, api.keys.labels);
  const { items, next } = operatorLabelsAnswer.parse(page.json);
  expect(items).toEqual([sealed.json]);
  const rest = await api.get(`/operator/labels?after=${next}`, api.keys.labels);
  expect(rest.json).toMatchObject({
    items: [{ text: "Cold storage", coinType: null }],
    next: null,
  });

  const { id } = items[0] ?? {};
  const one = await api.get(`/operator/labels/${id}`, api.keys.labels);
  expect(operatorLabelAnswer.parse(one.json).history).toMatchObject([
    { text: "Jane Roe", isSealed: true, endedBy: null },
    // Sealed since: not kept in the clear.
    { text: null, isSealed: false, endedBy: expect.stringMatching(/^key_/) },
  ]);
  const path = `/operator/labels/${id}`;
  const removed = await api.send("DELETE", path, undefined, api.keys.labels);
  expect(removed.json, removed.text).toEqual({ id, removed: true });
  expect((await api.send("DELETE", path, undefined, api.keys.labels)).status).toBe(404);
  expect((await api.get(path, api.keys.labels)).status).toBe(404);
});

test.each([
  [{ ...jane, holderId: undefined }, /holderId: is missing; a holder needs it/],
  [{ ...jane, address: "0x4" }, /address: must be absent for a holder/],
  [{ ...jane, coinType: "0x9::no::NO" }, /coinType: no token 0x0+9::no::NO was seen/],
  [{ ...jane, coinType: "acme" }, /coinType: is not/],
  [{ ...jane, text: "a\u202eb" }, /text: must not have control characters/],
  [{ ...jane, text: "x".repeat(201) }, /text: must have at most 200 characters/],
  [{ ...jane, kind: "PERSON" }, /kind: must be one of HOLDER/],
  [{ ...jane, name: "x" }, /name: no such parameter/],
])("a label that is none is refused with the member and the rule", async (body, details) => {
  const { status, text } = await put(body);
  expect({ status, text }).toEqual({ status: 400, text: expect.stringMatching(details) });
});

test("keys that do not see labels can neither read nor change them", async () => {
  for (const key of [api.keys.operator, api.keys.graphql]) {
    for (const [method, path, body] of [
      ["GET", "/operator/labels", undefined],
      ["PUT", "/operator/labels", jane],
      ["GET", "/operator/labels/1", undefined],
      ["DELETE", "/operator/labels/1", undefined],
    ] as const) {
      const { status, text } = await api.send(method, path, body, key);
      expect({ method, path, status }).toEqual({ method, path, status: 403 });
      expect(text).not.toContain("Jane");
    }
  }
});

test("no label is in the service's log", async () => {
  await put({ ...jane, text: "Unlogged Person" });
  expect(api.log.join("")).toContain("operator: gave a label");
  expect(api.log.join("")).not.toMatch(/Jane|Unlogged|Cold storage/);
});

test("without a key nothing is sealed, and the answer says what is missing", async () => {
  await using keyless = await serveOperator(database);
  const { status, text } = await keyless.send(
    "PUT",
    "/operator/labels",
    { ...jane, isSealed: true },
    keyless.keys.labels,
  );
  expect({ status, text }).toEqual({ status: 409, text: expect.stringMatching(/PII_KEYS/) });
});
