/**
 * `/docs`: the API to read and try, made of `/openapi.json`. Script and styles come from this server,
 * and the page's policy lets it talk to this server only.
 */
import { createHash } from "node:crypto";
import type { App } from "../http/part.ts";

/** Mounts `GET /docs`. The key is typed into the page and kept nowhere. */
export const mountDocs = async (app: App): Promise<void> => {
  // 4 MB of script: loaded only where this interface is served.
  const { default: apiReference } = await import("@scalar/fastify-api-reference");
  app.addHook("onSend", async (_request, reply, payload) => {
    const type = reply.getHeader("content-type");
    if (typeof type !== "string" || typeof payload !== "string") return payload;
    if (type.startsWith("text/html")) {
      reply.header("content-security-policy", policyFor(payload));
    } else if (type.startsWith("application/javascript")) {
      reply.header("cache-control", "public, max-age=3600");
    }
    return payload;
  });
  await app.register(apiReference, {
    routePrefix: "/docs",
    configuration: {
      url: "/openapi.json",
      pageTitle: "Holderbook transfer events",
      // Each of these would call somebody else's server.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
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
