import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EXAMPLES } from "../../src/graphql/graphiql/examples.mjs";
import {
  INTROSPECTION,
  operationAt,
  prettified,
  schemaOf,
  suggestions,
  tokensOf,
} from "../../src/graphql/graphiql/language.mjs";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { subscribe } from "./streams.ts";

let api: Api;
let page: Response;
let html: string;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
  page = await fetch(`${api.url}/graphiql`);
  html = await page.text();
});
afterAll(() => api[Symbol.asyncDispose]());

const between = (begin: string, end: string) =>
  html.slice(html.indexOf(begin) + begin.length, html.lastIndexOf(end));

test("the page needs no key, names the path of GraphQL, and is small", () => {
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(html).toContain('data-endpoint="/graphql"');
  expect(html.length).toBeLessThan(60_000);
});

test("the page loads nothing external: its script, style and icon are inline", () => {
  expect(html.match(/<(?:script|link|img|iframe|base|object|embed)\b[^>]*>/g)).toEqual([
    expect.stringContaining('href="data:image/svg+xml,'),
    "<script>",
  ]);
  expect(html).not.toMatch(/@import|url\(|innerHTML|\beval\b/);
});

test("its policy allows only this script, this style sheet and requests to this server", () => {
  const hash = (text: string) => createHash("sha256").update(text).digest("base64");
  expect(page.headers.get("content-security-policy")?.split("; ")).toEqual([
    "default-src 'none'",
    `script-src 'sha256-${hash(between("<script>", "</script>"))}'`,
    `style-src 'sha256-${hash(between("<style>", "</style>"))}'`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ]);
});

test("the page travels compressed, and a second visit does not fetch it again", async () => {
  expect(page.headers.get("content-encoding")).toBe("gzip");
  expect(Number(page.headers.get("content-length"))).toBeLessThan(20_000);
  const etag = page.headers.get("etag") ?? "";
  const again = await fetch(`${api.url}/graphiql`, { headers: { "if-none-match": etag } });
  expect({ status: again.status, body: await again.text() }).toEqual({ status: 304, body: "" });
  const plain = await fetch(`${api.url}/graphiql`, { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.text()).toBe(html);
});

test.for(EXAMPLES.map(({ title, query }) => [title, query] as const))(
  "the example it offers as %s is valid, and laid out as the page would",
  async ([, query]) => {
    const variables = { coinType: "0x1::none::NONE" };
    expect(prettified(query).replace(/\n+/g, "\n")).toBe(query.replace(/\n+/g, "\n"));
    if (operationAt(query, 0)?.kind !== "subscription") {
      expect((await api.query(query, variables)).errors).toBeUndefined();
      return;
    }
    using events = subscribe(api, query, variables);
    const refused = events.over.then(() => true);
    const open = (async () => {
      while (api.streams.size === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      return false;
    })();
    expect(await Promise.race([refused, open])).toBe(false);
  },
);

test("the tokens of any text add up to the text", () => {
  for (const text of ["", "{", '"""a\n"', "…{}\u0000$ @", "a#b\nc", '"\\"', "-1.5e3,,,"]) {
    expect(
      tokensOf(text)
        .map(({ word }) => word)
        .join(""),
    ).toBe(text);
  }
});

test("formatting changes whitespace only, and a second time nothing", () => {
  const text = `# c
query A($coinType:String!,$a:[Int!]=[1 2], $o: X = {a:1 b:{c:2}}) @x(if:$a){a:tokens(limit:10 after:"x{}"){coinType #hm
 ...F ... on T{x} symbol @skip(if:true) z } b } fragment F on Token { name } {x}`;
  const once = prettified(text);
  expect(prettified(once)).toBe(once);
  const words = (of: string) =>
    tokensOf(of)
      .filter(({ kind }) => kind !== "space")
      .map(({ word }) => word);
  expect(words(once)).toEqual(words(text));
  expect(once).toContain(
    'query A($coinType: String!, $a: [Int!] = [1, 2], $o: X = { a: 1, b: { c: 2 } }) @x(if: $a) {\n  a: tokens(limit: 10, after: "x{}") {',
  );
});

test("among several operations the one at the cursor runs", () => {
  const text = "query A { a } subscription B { b } fragment F on T { x } { c }";
  expect([0, 20, 60].map((place) => operationAt(text, place)?.name)).toEqual(["A", "B", undefined]);
  expect(operationAt(text, 20)).toMatchObject({ kind: "subscription", isOnly: false });
  expect(operationAt("# nothing", 0)).toBeUndefined();
});

test("completion offers the fields and arguments that are valid there", async () => {
  const { data } = await api.query(INTROSPECTION);
  const schema = schemaOf(data);
  const at = (text: string) => {
    const place = text.indexOf("|");
    return suggestions(schema, text.replace("|", ""), place).all.map(({ name }) => name);
  };
  expect(at("sub|")).toEqual(["subscription"]);
  expect(at("{ token| }")).toContain("tokenActivity");
  expect(at('{ capTable(coinType: "x") { rows { wa| } } }')).toEqual(["wallets"]);
  expect(at("{ tokenActivity(ord|) { position } }")).toEqual(["order"]);
  expect(at("{ tokenActivity(order: D|) { position } }")).toEqual(["DESC"]);
  expect(at("subscription { bal| }")).toEqual(["balanceChanges"]);
  expect(at("{ x: tokens { sy| } }")).toEqual(["symbol"]);
  expect(at("fragment F on Token { dec| }")).toEqual(["decimals"]);
});
