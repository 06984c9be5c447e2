/**
 * `/graphiql`: queries in the browser. One page of some 30 KB that loads nothing else: it works without a network,
 * and its policy allows connections to this server only.
 *
 * The package `graphiql` needs exceptions of that policy (inline styles, or HTML from strings) and is 2 to 7 MB.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type LargeText, largeReply, largeText, pagesUnsent } from "../http/large-text.ts";
import type { Route } from "../http/route.ts";
import type { Unsent } from "../http/unsent.ts";
import { openGet } from "../http/who.ts";
import { once } from "../waiting/once.ts";

/** The page's scripts in the order in which they need one another. */
const SCRIPTS = ["language", "examples", "editor", "docs", "page"] as const;

const partOfPage = (name: string): Promise<string> =>
  readFile(new URL(`./graphiql/${name}`, import.meta.url), "utf8");

/** Modules as one script, each after those that it imports. */
const asOneScript = (modules: readonly string[]): string => {
  const texts = modules.map((text) =>
    text.replace(/^import [^;]+;$/gm, "").replace(/^export /gm, ""),
  );
  return `"use strict";{${texts.join("\n")}}`;
};

const hashOf = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** The page and its Content-Security-Policy. */
const makePage = async (endpoint: string): Promise<LargeText & { readonly policy: string }> => {
  const [html, style, ...modules] = await Promise.all([
    partOfPage("page.html"),
    partOfPage("page.css"),
    ...SCRIPTS.map((name) => partOfPage(`${name}.mjs`)),
  ]);
  const script = asOneScript(modules);
  const page = html
    .replace('data-endpoint="/graphql"', `data-endpoint="${endpoint}"`)
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace("<script></script>", () => `<script>${script}</script>`);
  return { ...(await largeText(Buffer.from(page))), policy: policyFor(script, style) };
};

/** Allows this script and this style sheet by their hashes, nothing else, and no HTML from strings. */
const policyFor = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");

/**
 * `GET /graphiql`. The key is typed into its field and stored nowhere; on the demo ledger it is filled in.
 * @param unsent the account of pages
 */
export const graphiqlRoute = (endpoint: string, unsent: Unsent = pagesUnsent()): Route => {
  const graphiql = once(() => makePage(endpoint));
  return openGet("/graphiql", async (visit) => {
    const page = await graphiql();
    return largeReply(visit, page, unsent, "text/html; charset=utf-8", {
      "content-security-policy": page.policy,
    });
  });
};
