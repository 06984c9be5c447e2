/** The built page in `web/dist`: cached in memory, compressed, and reloaded after a newer build. */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { LargeText } from "../http/large-text.ts";

export const BUILT_PAGE = fileURLToPath(new URL("../../web/dist/", import.meta.url));

export type SiteFile = LargeText & { readonly contentType: string };

type Site = {
  readonly index: SiteFile;
  /**
   * By name below `assets/`, which contains a digest of the content. Those of the previous build
   * stay: an open page requests its own.
   */
  readonly assets: ReadonlyMap<string, SiteFile>;
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** At most one check for a newer build per interval, milliseconds. */
const CHECK_EVERY_MS = 1_000;

/** The newest page at each call; undefined before the first build. */
export const watchSite = (folder: string = BUILT_PAGE): (() => Promise<Site | undefined>) => {
  let site: Site | undefined;
  let newest: Site["assets"] | undefined;
  let builtMs = 0;
  let newestCheck: { readonly atMs: number; readonly done: Promise<void> } | undefined;
  const check = async () => {
    const modified = await stat(join(folder, "index.html")).catch(() => undefined);
    // A build replaces the folder atomically: no half-written page is seen.
    if (modified === undefined || modified.mtimeMs === builtMs) return;
    const { index, assets } = await readSite(folder);
    site = { index, assets: new Map([...(newest ?? []), ...assets]) };
    newest = assets;
    builtMs = modified.mtimeMs;
  };
  return async () => {
    const nowMs = performance.now();
    if (newestCheck === undefined || nowMs - newestCheck.atMs > CHECK_EVERY_MS) {
      newestCheck = { atMs: nowMs, done: check() };
    }
    await newestCheck.done;
    return site;
  };
};

const readSite = async (folder: string): Promise<Site> => {
  const assets = new Map<string, SiteFile>();
  const below = join(folder, "assets");
  for (const name of await readdir(below)) {
    if (!name.endsWith(".br")) assets.set(name, await readSiteFile(join(below, name)));
  }
  return { index: await readSiteFile(join(folder, `index.html`)), assets };
};

const readSiteFile = async (path: string): Promise<SiteFile> => {
  const contentType = CONTENT_TYPES[extname(path)];
  if (contentType === undefined) {
    throw new Error(
      `${path.split(sep).at(-1)}: no content type is known for this file of the page`,
    );
  }
  const identity = await readFile(path);
  const br = await readFile(`${path}.br`);
  // For proxies and clients without brotli.
  const zipped = await promisify(gzip)(identity);
  const etag = `W/"${createHash("sha256").update(identity).digest("base64url")}"`;
  return { contentType, etag, bytes: { identity, gzip: zipped, br } };
};
