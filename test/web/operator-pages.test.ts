import { createServer } from "node:http";
import { expect, test } from "vitest";
import { parseExactly } from "../../client/exact-json.ts";
import { AnswerFormError, AskError, askPath, pathWith } from "../../web/src/data/ask.ts";
import { jsonText } from "../../web/src/pages/deliveries/json-text.ts";
import {
  type Range,
  type RangePage,
  rangeOf,
  sendRange,
} from "../../web/src/pages/deliveries/range.ts";
import { withGaps } from "../../web/src/pages/status/gaps.ts";
import { keyAdvice, refusalText } from "../../web/src/shell/key-advice.ts";

const SECRET = "a".repeat(43);

test("a key of another interface, or an incomplete one, is refused before anything is sent", () => {
  expect(keyAdvice(`hb_operator_${SECRET}`)).toBeNull();
  expect(keyAdvice(`  hb_graphql_${SECRET}\n`)).toBeNull();
  expect(keyAdvice(`hb_project_${SECRET}`)).toMatch(/project key.*operator or graphql/);
  expect(keyAdvice('{"publicKey":"x","secretKey":"y"}')).toMatch(/key pair.*keep it secret/);
  expect(keyAdvice("key_02c4b1d2d995")).toMatch(/id of a key/);
  expect(keyAdvice(`hb_operator_${SECRET.slice(1)}`)).toMatch(/incomplete/);
  expect(keyAdvice("two words")).toMatch(/no spaces/);
  expect(keyAdvice(`hb_graphql_${SECRET}`, "operator")).toMatch(/read key/);
  // Keys that an operator may have made of their own: the service tells.
  expect(keyAdvice("something-else")).toBeNull();
});

test("no advice about a key repeats the key", () => {
  for (const key of [
    `hb_project_${SECRET}`,
    `hb_operator_${SECRET}!`,
    `{"secretKey":"${SECRET}"}`,
  ]) {
    expect(keyAdvice(key)).not.toContain(SECRET);
  }
});

test("a refused sign-in says whether the key is unknown, tried too often, or of another kind", () => {
  const asked = (status: number) => refusalText(new AskError({ message: "said so", status }));
  expect(asked(401)).toMatch(/Unknown key/);
  expect(asked(429)).toMatch(/Wait a minute/);
  expect(asked(403)).toBe("said so");
});

const FIELDS = {
  since: 1_000,
  until: 2_000,
  receiver: "",
  states: new Set(["disabled", "failed"] as const),
};

test("a range without an end ends when it is counted, so that later callbacks are not sent unseen", () => {
  expect(rangeOf({ ...FIELDS, until: null }, 5_000_000)).toEqual({
    since: "1970-01-01T00:16:40.000Z",
    until: "1970-01-01T01:23:20.000Z",
    states: ["failed", "disabled"],
  });
});

test("an incomplete range says what is missing", () => {
  expect(rangeOf({ ...FIELDS, since: null }, 0)).toBe("Enter a start.");
  expect(rangeOf({ ...FIELDS, since: 2_000 }, 0)).toMatch(/before the start/);
  expect(rangeOf({ ...FIELDS, states: new Set() }, 0)).toMatch(/at least one/);
  const range = rangeOf({ ...FIELDS, receiver: "ta:demo-a" }, 0);
  expect((range as Range).receiver).toBe("ta:demo-a");
});

test("a range is sent part by part to its end, with running totals", async () => {
  const parts: readonly RangePage[] = [
    { redelivered: 1_000, waiting: 2, next: "a" },
    { redelivered: 1_000, waiting: 0, next: "b" },
    { redelivered: 7, waiting: 1, next: null },
  ];
  const asked: (string | undefined)[] = [];
  const told: number[] = [];
  const ended = await sendRange(
    async (after) => {
      asked.push(after);
      return parts[asked.length - 1] ?? { redelivered: 0, waiting: 0, next: null };
    },
    (soFar) => told.push(soFar),
  );
  expect(ended).toEqual({ redelivered: 2_007, waiting: 3 });
  expect(asked).toEqual([undefined, "a", "b"]);
  expect(told).toEqual([1_000, 2_000, 2_007]);
});

test("sending a range stops on request, without a further part", async () => {
  const stopping = new AbortController();
  const asked: (string | undefined)[] = [];
  const sending = sendRange(
    async (after) => {
      asked.push(after);
      return { redelivered: 1_000, waiting: 0, next: "a" };
    },
    () => stopping.abort(),
    stopping.signal,
  );
  await expect(sending).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
  expect(asked).toEqual([undefined]);
});

test("the body of a callback is shown with its exact integers", () => {
  const sent = '{"amount":18446744073709551615,"ids":[],"to":{"wallet":"(sealed)"},"list":[1,"a"]}';
  const text = jsonText(parseExactly(sent));
  expect(text).toContain('"amount": 18446744073709551615,');
  expect(text.replaceAll(/\s/g, "")).toBe(sent);
});

test("no line is drawn over a time in which no process indexed, and its rate is that of no minute", () => {
  const point = (minute: number) => ({
    at: new Date(minute * 60_000).toISOString(),
    lagSeconds: { role_changes: 1 },
    checkpointsPerSecond: 4,
  });
  const unknown = { at: point(3).at, lagSeconds: {}, checkpointsPerSecond: null };
  // A minute may be missed on a busy machine.
  expect(withGaps([point(0), point(2), point(60)])).toEqual([
    point(0),
    point(2),
    unknown,
    { ...point(60), checkpointsPerSecond: null },
  ]);
});

test("unset filters stay out of the query, and values are encoded", () => {
  expect(pathWith("/operator/requests", { status: undefined })).toBe("/operator/requests");
  expect(pathWith("/x", { asset: "a&b", after: "c=" })).toBe("/x?asset=a%26b&after=c%3D");
});

test("an answer that is not a JSON object is an error that says so, and a refusal has the service's own words", async () => {
  const server = createServer((request, response) => {
    response.statusCode = request.url === "/refused" ? 400 : 200;
    response.end(request.url === "/refused" ? '{"details":"limit: too large"}' : "<html></html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  try {
    await expect(askPath(`${url}/list`)).rejects.toThrow(AnswerFormError);
    await expect(askPath(`${url}/list`)).rejects.toThrow(/reload the page/);
    await expect(askPath(`${url}/refused`)).rejects.toThrow(
      expect.objectContaining({ name: "AskError", status: 400, message: "limit: too large" }),
    );
  } finally {
    server.close();
  }
});
