import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./api.ts";

let api: Api;
let page: Response;
let html: string;
beforeAll(async () => {
  api = await startApi();
  page = await fetch(`${api.url}/graphiql`);
  html = await page.text();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Everything before the first inline style or script, and the tags of those. */
const tags = () =>
  html.match(/<(?:script|link|img|iframe|base|object|embed|style)\b[^>]{0,200}>/g) ?? [];

test("the page needs no key and has an editor for the header that takes it", () => {
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const options = html.slice(html.lastIndexOf("YogaGraphiQL.renderYogaGraphiQL("));
  expect(options).toContain('"endpoint":"/graphql"');
  expect(options).toContain('"isHeadersEditorEnabled":true');
  expect(options).toContain('"shouldPersistHeaders":false');
  expect(options).toContain("X-API-Key");
});

test("the page loads nothing from anywhere: its script, style and icon are inside it", () => {
  // The bundle quotes tags in its own texts; what a browser parses is before and after it.
  const head = html.slice(0, html.indexOf("<style>"));
  expect(head).not.toMatch(/<script|<base|<iframe/);
  expect(head.match(/(?:href|src)="([^"]{0,11})/)?.[1]).toBe("data:image/");
  expect(tags().filter((tag) => /(?:src|href)=["']?(?:https?:)?\/\//.test(tag))).toEqual([]);
  expect(html.match(/@import|url\(["']?(?:https?:)?\/\//g)).toBeNull();
  expect(html.match(/<\/script/g)).toHaveLength(1);
});

test("its policy allows this one script, and talking to this server only", () => {
  const policy = page.headers.get("content-security-policy") ?? "";
  const script = html.slice(html.indexOf("<script>") + 8, html.lastIndexOf("</script>"));
  const digest = createHash("sha256").update(script).digest("base64");
  expect(policy.split("; ")).toEqual([
    "default-src 'none'",
    `script-src 'sha256-${digest}'`,
    "style-src 'unsafe-inline'",
    "worker-src blob:",
    "connect-src 'self'",
    "img-src data:",
    "font-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
});

test("the page travels compressed, and a second visit does not fetch it again", async () => {
  expect(page.headers.get("content-encoding")).toBe("gzip");
  expect(Number(page.headers.get("content-length"))).toBeLessThan(html.length / 3);
  const etag = page.headers.get("etag") ?? "";
  const again = await fetch(`${api.url}/graphiql`, { headers: { "if-none-match": etag } });
  expect({ status: again.status, body: await again.text() }).toEqual({ status: 304, body: "" });
  const plain = await fetch(`${api.url}/graphiql`, { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.text()).toBe(html);
});

test("the queries it offers are valid", async () => {
  const options = html.slice(html.lastIndexOf("renderYogaGraphiQL("));
  const json = options.slice(options.indexOf("{"), options.lastIndexOf("}") + 1);
  const { defaultTabs } = JSON.parse(json);
  expect(defaultTabs).toHaveLength(3);
  for (const { query } of defaultTabs) {
    const { errors } = await api.query(query, { coinType: "0x1::none::NONE" });
    expect(errors).toBeUndefined();
  }
});
