/**
 * `/docs`: the API to read and try, made of `/openapi.json`. Script and styles come from this server,
 * and the page's policy lets it talk to this server only.
 */
import { z } from "zod";
import { hasHungUp } from "../http/hung-up.ts";
import { madeText, madeWhenOpened } from "../http/large-page.ts";
import { largeBody } from "../http/large-text.ts";
import type { App } from "../http/part.ts";
import type { Unsent } from "../http/unsent.ts";

/** The page with what a browser is told about it, and its script of 4 MB. */
const madeDocs = z.object({ html: z.string(), policy: z.string(), script: madeText });

/**
 * Mounts `GET /docs`. The key is typed into the page and kept nowhere.
 * @param unsent the account of pages
 */
export const mountDocs = (app: App, unsent: Unsent): void => {
  const docs = madeWhenOpened(new URL("./docs-page.ts", import.meta.url), madeDocs);

  app.get("/docs/", async (request, reply) => {
    // Both lead here; what the page names beside itself is found from the one with the slash.
    if (!/^[^?]*\/(\?|$)/.test(request.url)) return reply.redirect("/docs/", 301);
    const { html, policy } = await docs();
    if (hasHungUp(reply)) return reply.hijack();
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", policy)
      .send(html);
  });
  app.get("/docs/js/scalar.js", async (request, reply) => {
    const { script } = await docs();
    if (hasHungUp(reply)) return reply.hijack();
    const body = largeBody(request, reply, script, unsent);
    return reply.type("application/javascript; charset=utf-8").send(body);
  });
};
