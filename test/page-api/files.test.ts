import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { PAGE_PATHS, webPart } from "../../src/page-api/files-part.ts";
import { serve } from "../http/service.ts";

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a browser gets the page at / and at each of its addresses, a program gets the list of interfaces", async () => {
  await using service = await servePage("<p>first</p>");
  const program = await fetch(service.url, { headers: { accept: "application/json" } });
  expect(await program.json()).toMatchObject({ service: "holderbook" });
  expect(program.headers.get("vary")).toContain("accept");
  for (const path of ["/", ...PAGE_PATHS.map((one) => one.replace(/:\w+/, "1"))]) {
    const page = await fetch(service.url + path, { headers: HTML });
    expect(page.headers.get("content-type"), path).toBe("text/html; charset=utf-8");
    expect(await page.text(), path).toBe("<p>first</p>");
  }
});

test("an address that the page does not have is the page with 404, another method 405", async () => {
  await using service = await servePage("<p>first</p>");
  const mistyped = await fetch(`${service.url}/statuss`, { headers: HTML });
  expect([mistyped.status, await mistyped.text()]).toEqual([404, "<p>first</p>"]);
  const program = await fetch(`${service.url}/statuss`, {
    headers: { accept: "application/json" },
  });
  expect(await program.json()).toMatchObject({ details: "no such path: GET /statuss" });
  for (const path of ["/status", "/assets/index-abc.js"]) {
    const other = await fetch(service.url + path, { method: "POST" });
    expect([other.status, other.headers.get("allow")], path).toEqual([405, "GET, HEAD"]);
  }
});

test("the page in place of a mistyped API path varies by origin, too", async () => {
  await using service = await servePage("<p>first</p>", ["https://cap.example"]);
  const page = await fetch(`${service.url}/api/v1/mistyped`, { headers: HTML });
  expect([page.status, page.headers.get("vary")]).toEqual([404, "origin, accept-encoding"]);
});

test("the page may run and load only this server's files, and nothing may frame it", async () => {
  await using service = await servePage("<p>first</p>");
  const { headers } = await fetch(service.url, { headers: HTML });
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
});

test("files of the page are cached for ever, the page itself is revalidated each time", async () => {
  await using service = await servePage("<p>first</p>");
  const headers = { "accept-encoding": "gzip, br" };
  const asset = await fetch(`${service.url}/assets/index-abc.js`, { headers });
  expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(asset.headers.get("content-encoding")).toBe("br");
  expect(await asset.text()).toBe("run()");
  const page = await fetch(service.url, { headers: HTML });
  expect(page.headers.get("cache-control")).toBe("no-cache");
  const etag = page.headers.get("etag") ?? "";
  const again = await fetch(service.url, { headers: { ...HTML, "if-none-match": etag } });
  expect(again.status).toBe(304);
  const unknown = await fetch(`${service.url}/assets/..%2F..%2Fpackage.json`);
  expect(unknown.status).toBe(404);
});

test("until it is built a line says so, and a build is served without a restart", async () => {
  await using service = await servePage(undefined);
  const waiting = await fetch(service.url, { headers: HTML });
  expect(waiting.headers.get("refresh")).toBe("2");
  expect(await waiting.text()).toContain("The page is being built");
  await putPage(service.folder, "<p>now</p>");
  const text = async () => (await fetch(service.url, { headers: HTML })).text();
  await expect.poll(text).toBe("<p>now</p>");
});

test("an open page finds its files after a newer build, but not after two", async () => {
  await using service = await servePage("<p>first</p>");
  const status = async (name: string) => (await fetch(`${service.url}/assets/${name}`)).status;
  expect(await status("index-abc.js")).toBe(200);
  for (const [build, kept] of [
    ["second", 200],
    ["third", 404],
  ] as const) {
    await putPage(service.folder, `<p>${build}</p>`, `index-${build}.js`);
    const text = async () => (await fetch(service.url, { headers: HTML })).text();
    await expect.poll(text).toBe(`<p>${build}</p>`);
    expect(await status(`index-${build}.js`)).toBe(200);
    expect(await status("index-abc.js")).toBe(kept);
  }
});

test("the server knows every address of the page", async () => {
  const router = await readFile(new URL("../../web/src/router.tsx", import.meta.url), "utf8");
  const paths = [...router.matchAll(/ path: "([^"]+)"/g)].map(([, path]) =>
    path?.replace("$", ":"),
  );
  expect(paths.filter((path) => path !== "/").sort()).toEqual([...PAGE_PATHS].sort());
});

/** A server with a page of two files, or with none yet. */
const servePage = async (html: string | undefined, corsOrigins: readonly string[] = []) => {
  const folder = join(await mkdtemp(join(tmpdir(), "page-")), "dist");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (html !== undefined) await putPage(folder, html);
  const service = await serve({ parts: [webPart({ folder })], corsOrigins });
  return Object.assign(service, { folder });
};

/** As a build does: beside, then in its place at once. */
const putPage = async (folder: string, html: string, script = "index-abc.js") => {
  const made = `${folder}.new`;
  await mkdir(join(made, "assets"), { recursive: true });
  const files = { "index.html": html, [`assets/${script}`]: "run()" };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(made, name), text);
    await writeFile(join(made, `${name}.br`), brotliCompressSync(text));
  }
  await rm(folder, { recursive: true, force: true });
  await rename(made, folder);
};
