/** Worker that builds the pages of `part.ts`. */
import { createHash } from "node:crypto";
import apiReference from "@scalar/fastify-api-reference";
import { fastify } from "fastify";
import { handOver, largeText } from "../large-text.ts";

/** Browsers request an icon; without one the log shows a missing page. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230069b4' d='M3 2h10v12H3zm2 3v1h6V5zm0 3v1h6V8z'/%3E%3C/svg%3E";

/** The package is a Fastify plugin: run it in a server without a port and keep what it sends. */
const app = fastify();
const made = new Map<string, Buffer>();
app.addHook("onSend", async ({ url }, _reply, payload) => {
  if (typeof payload !== "string") return payload;
  made.set(url, Buffer.from(payload));
  // Empty, to avoid further copies.
  return "";
});
await app.register(apiReference, {
  routePrefix: "/docs",
  configuration: {
    url: "/openapi.json",
    pageTitle: "Holderbook API",
    favicon: ICON,
    defaultOpenAllTags: true,
    // Each of these calls another host, or offers to.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
    persistAuth: false,
  },
});

const answer = async (path: string) => {
  const { statusCode } = await app.inject(path);
  const body = made.get(path);
  if (statusCode !== 200 || body === undefined) throw new Error(`${path} answered ${statusCode}`);
  return body;
};

/** Allows the inline script by its hash, the other by its origin. */
const policyFor = (html: string): string => {
  const hashes = [...html.matchAll(/<script(?:\s[^>]*)?>([^<]+)<\/script>/g)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`,
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
};

const html = (await answer("/docs/")).toString();
const script = await largeText(await answer("/docs/js/scalar.js"));
handOver({ html, policy: policyFor(html), script }, [script]);
