/**
 * `/openapi.json` and `/docs`, a page to read it and try it on. Its script and styles come from
 * this server, and its policy allows connections to this server only.
 */
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { once } from "../../waiting/once.ts";
import { openApi } from "../describe.ts";
import { type LargeText, largeReply, largeText, pagesUnsent } from "../large-text.ts";
import type { Part } from "../part.ts";
import { JSON_TYPE } from "../route.ts";
import type { Unsent } from "../unsent.ts";
import { openGet } from "../who.ts";

type DocsSettings = {
  readonly parts: readonly Part[];
  readonly version: string;
  /** Bound of unsent pages; own by default. */
  readonly unsent?: Unsent | undefined;
};

export const docsPart = ({ parts, version, unsent = pagesUnsent() }: DocsSettings): Part => {
  const text = JSON.stringify(openApi(parts, version));
  const document = once(() => largeText(Buffer.from(text)));
  const docs = madeWhenOpened();
  return {
    name: "docs",
    paths: [
      { path: "/docs", about: "the description of everything but GraphQL, to read" },
      { path: "/openapi.json", about: "the same as OpenAPI 3.1" },
    ],
    routes: [
      openGet("/openapi.json", async (visit) =>
        largeReply(visit, await document(), unsent, JSON_TYPE),
      ),
      openGet("/docs", async (visit) => {
        // The page's relative URLs need the trailing slash.
        if (!/^[^?]*\/(\?|$)/.test(visit.raw.url ?? "")) {
          return { status: 301, headers: { location: "/docs/" }, body: "" };
        }
        const { html, policy } = await docs();
        return {
          status: 200,
          headers: { "content-security-policy": policy },
          contentType: "text/html; charset=utf-8",
          body: html,
        };
      }),
      openGet("/docs/js/scalar.js", async (visit) => {
        const { script } = await docs();
        return largeReply(visit, script, unsent, "application/javascript; charset=utf-8");
      }),
    ],
  };
};

const bytes = z
  .instanceof(Uint8Array)
  .transform(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));

/** As the worker sends it. */
const madeText = z.object({
  bytes: z.object({ identity: bytes, gzip: bytes, br: bytes }),
  etag: z.string(),
}) satisfies z.ZodType<LargeText>;

/** The page, its policy and its script of 4 MB. */
const madeDocs = z.object({ html: z.string(), policy: z.string(), script: madeText });

type Docs = z.infer<typeof madeDocs>;

/** The worker has little garbage; without a limit it would take more room. */
const ROOM = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 96 };

/**
 * Makes the page on first use, and again after a failure; in a worker, because making it takes a
 * hundred megabytes, which would stay in this thread's heap.
 */
const madeWhenOpened = (): (() => Promise<Docs>) => {
  const make = () =>
    new Promise<Docs>((resolve, reject) => {
      const worker = new Worker(new URL("./page.ts", import.meta.url), { resourceLimits: ROOM });
      worker.once("message", (message) => resolve(madeDocs.parse(message)));
      worker.once("error", reject);
      worker.once("exit", (code) => reject(new Error(`the page was not made: code ${code}`)));
    });
  let known: Promise<Docs> | undefined;
  return () => {
    known ??= make().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
};
