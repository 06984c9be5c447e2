/**
 * `/openapi.json` and `/docs`, a page to read it and try it on. Its script and styles come from
 * this server, and its policy allows connections to this server only.
 */
import { z } from "zod";
import { openApi } from "../describe.ts";
import { refuseOtherMethods } from "../edge/other-methods.ts";
import { hasHungUp } from "../hung-up.ts";
import { madeText, madeWhenOpened } from "../large-page.ts";
import { largeBody, largeText, pagesUnsent } from "../large-text.ts";
import type { Part } from "../part.ts";
import { JSON_TYPE } from "../route.ts";
import type { Unsent } from "../unsent.ts";

/** The page, its policy and its script of 4 MB. */
const madeDocs = z.object({ html: z.string(), policy: z.string(), script: madeText });

type DocsSettings = {
  readonly parts: readonly Part[];
  readonly version: string;
  /** Bound of unsent pages; own by default. */
  readonly unsent?: Unsent | undefined;
};

export const docsPart = ({ parts, version, unsent = pagesUnsent() }: DocsSettings): Part => ({
  name: "docs",
  paths: [
    { path: "/docs", about: "the description of everything but GraphQL, to read" },
    { path: "/openapi.json", about: "the same as OpenAPI 3.1" },
  ],
  register: async (app) => {
    const text = JSON.stringify(openApi(parts, version));
    const document = await largeText(Buffer.from(text));
    app.get("/openapi.json", async (request, reply) => {
      const body = largeBody(request, reply, document, unsent);
      return reply.type(JSON_TYPE).send(body);
    });
    refuseOtherMethods(app, "/openapi.json");

    const docs = madeWhenOpened(new URL("./page.ts", import.meta.url), madeDocs);
    app.get("/docs/", async (request, reply) => {
      // The page's relative URLs need the trailing slash.
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
  },
});
