/**
 * `/docs`: the API to read and try, made of `/openapi.json`. Script and styles come from this server,
 * and the page's policy lets it talk to this server only.
 */
import { createHash } from "node:crypto";
import { type LargeText, largeBody, largeText } from "../http/large-text.ts";
import type { App } from "../http/part.ts";
import type { Unsent } from "../http/unsent.ts";

/** Asked for by every browser; without one it would be a missing page in the log. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230069b4' d='M3 2h10v12H3zm2 3v1h6V5zm0 3v1h6V8z'/%3E%3C/svg%3E";

/**
 * Mounts `GET /docs`. The key is typed into the page and kept nowhere.
 * @param unsent the account of pages
 */
export const mountDocs = async (app: App, unsent: Unsent): Promise<void> => {
  // 4 MB of script: loaded only where this interface is served, compressed for the first who opens it.
  const { default: apiReference } = await import("@scalar/fastify-api-reference");
  let script: Promise<LargeText> | undefined;
  app.addHook("onSend", async (request, reply, payload) => {
    const type = reply.getHeader("content-type");
    if (typeof type !== "string" || typeof payload !== "string") return payload;
    if (type.startsWith("text/html")) {
      reply.header("content-security-policy", policyFor(payload));
    } else if (type.startsWith("application/javascript")) {
      script ??= largeText(payload);
      return largeBody(request, reply, await script, unsent);
    }
    return payload;
  });
  await app.register(apiReference, {
    routePrefix: "/docs",
    configuration: {
      url: "/openapi.json",
      pageTitle: "Holderbook API",
      favicon: ICON,
      defaultOpenAllTags: true,
      // Each of these would call somebody else's server, or offers to.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: "never",
      persistAuth: false,
    },
  });
};

/** Its one inline script is allowed by its hash, the other one by where it comes from. */
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
