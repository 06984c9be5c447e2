/**
 * `/graphiql`: the interactive IDE, one page without a single outside address: it works on a machine
 * without a network, and its policy lets it talk to this server only.
 */
import { z } from "zod";
import { hasHungUp } from "../http/hung-up.ts";
import { madeText, madeWhenOpened } from "../http/large-page.ts";
import { largeBody, pagesUnsent } from "../http/large-text.ts";
import type { App } from "../http/part.ts";
import type { Unsent } from "../http/unsent.ts";

/** The page, 9 MB, with what a browser is told about it. */
const madePage = madeText.extend({ policy: z.string() });

/**
 * Mounts `GET /graphiql`. The key is typed into its header editor and kept nowhere.
 * @param unsent the account of pages
 */
export const mountGraphiql = (app: App, endpoint: string, unsent: Unsent = pagesUnsent()): void => {
  const program = new URL("./graphiql-page.ts", import.meta.url);
  const graphiql = madeWhenOpened(program, madePage, endpoint);

  app.get("/graphiql", async (request, reply) => {
    const page = await graphiql();
    if (hasHungUp(reply)) return reply.hijack();
    const body = largeBody(request, reply, page, unsent);
    reply.type("text/html; charset=utf-8").header("content-security-policy", page.policy);
    return reply.send(body);
  });
};
