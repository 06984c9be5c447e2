/**
 * `/graphiql`: the interactive IDE, one page without a single outside address: it works on a machine
 * without a network, and its policy lets it talk to this server only.
 */
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { hasHungUp } from "../http/hung-up.ts";
import { largeBody, pagesUnsent } from "../http/large-text.ts";
import type { App } from "../http/part.ts";
import type { Unsent } from "../http/unsent.ts";

const bytes = z
  .instanceof(Uint8Array)
  .transform(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));

/** The page with what a browser is told about it, as the worker hands it over. */
const madePage = z.object({
  bytes: z.object({ identity: bytes, gzip: bytes, br: bytes }),
  etag: z.string(),
  policy: z.string(),
});

type Page = z.infer<typeof madePage>;

/**
 * Mounts `GET /graphiql`. The key is typed into its header editor and kept nowhere.
 * @param unsent the account of pages
 */
export const mountGraphiql = (app: App, endpoint: string, unsent: Unsent = pagesUnsent()): void => {
  // 9 MB of text and half a second of compressing: only for those who open it, and once.
  let known: Promise<Page> | undefined;
  const make = () => {
    const made = makePage(endpoint);
    made.catch(() => {
      known = undefined;
    });
    return made;
  };

  app.get("/graphiql", async (request, reply) => {
    known ??= make();
    const page = await known;
    if (hasHungUp(reply)) return reply.hijack();
    const body = largeBody(request, reply, page, unsent);
    reply.type("text/html; charset=utf-8").header("content-security-policy", page.policy);
    return reply.send(body);
  });
};

/**
 * In a thread of its own that ends with it: the text is several times as large while it is made, and
 * would stay in the memory of this one.
 */
const makePage = (endpoint: string): Promise<Page> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./graphiql-page.ts", import.meta.url), {
      workerData: endpoint,
    });
    worker.once("message", (page) => resolve(madePage.parse(page)));
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`the page was not made: code ${code}`)));
  });
