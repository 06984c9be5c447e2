/** Serves the page from memory, at `/` and its own addresses, to callers that take HTML. */
import { HttpError } from "../http/http-error.ts";
import { largeReply, pagesUnsent } from "../http/large-text.ts";
import type { Part } from "../http/part.ts";
import type { Reply, Visit } from "../http/route.ts";
import type { Unsent } from "../http/unsent.ts";
import { openGet } from "../http/who.ts";
import { BUILT_PAGE, watchSite } from "./site.ts";

/** Addresses of the page besides `/`, as in `web/src/router.tsx`. */
export const PAGE_PATHS = [
  "/status",
  "/cap-table",
  "/holder/:holder",
  "/wallet/:address",
  "/movements",
  "/roles",
  "/proof",
  "/check",
  "/transaction/:digest",
  "/requests",
  "/requests/:id",
  "/deliveries",
  "/tour",
] as const;

/** Scripts, styles and answers only from this server; no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const YEAR_SECONDS = 365 * 24 * 60 * 60;

type WebPartSettings = {
  /** Bound of unsent pages; own by default. */
  readonly unsent?: Unsent | undefined;
  readonly folder?: string | undefined;
};

/**
 * - `GET /` and the page's addresses: `index.html`.
 * - `GET /assets/{name}`: immutable files; the name contains a digest.
 *
 * Until the page is built (the first start does so in the background), a placeholder reloads
 * itself.
 */
export const webPart = ({
  unsent = pagesUnsent(),
  folder = BUILT_PAGE,
}: WebPartSettings = {}): Part => {
  const site = watchSite(folder);

  const index = async (visit: Visit): Promise<Reply | undefined> => {
    const built = await site();
    if (built === undefined) return NOT_BUILT;
    const { index: file } = built;
    return largeReply(visit, file, unsent, file.contentType, { "content-security-policy": POLICY });
  };

  return {
    name: "web",
    paths: [{ path: "/status", about: "the page: who holds what, and whether all is well" }],
    home: index,
    routes: [
      ...PAGE_PATHS.map((path) => openGet(path, index)),
      openGet("/assets/:name", async (visit) => {
        const { name = "" } = visit.params;
        const file = (await site())?.assets.get(name);
        if (file === undefined) throw new HttpError(404, `no such file of the page: ${name}`);
        return largeReply(visit, file, unsent, file.contentType, {
          "cache-control": `public, max-age=${YEAR_SECONDS}, immutable`,
        });
      }),
    ],
  };
};

const NOT_BUILT: Reply = {
  status: 200,
  headers: { refresh: "2", "content-security-policy": "default-src 'none'" },
  contentType: "text/html; charset=utf-8",
  body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Holderbook</title>
<p>The page is being built and appears here in a moment. The interfaces answer already: see /health.</p>
<p>If it does not appear: run <code>npm run web</code> in the project's folder.</p></html>
`,
};
