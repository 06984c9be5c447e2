/**
 * How the page is built: into `web/dist`, with a name by content for everything but `index.html`, each
 * file compressed once by brotli, so that the service serves it from memory as it is.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const COMPRESSED = /\.(?:js|css|html|svg)$/;

/** `name.br` beside each file that is text; quality 11 is worth its time once. */
const compressedBeside = (): Plugin => ({
  name: "compressed-beside",
  apply: "build",
  writeBundle: async ({ dir = "" }) => {
    const files = await readdir(dir, { recursive: true });
    const compress = promisify(brotliCompress);
    for (const file of files.filter((name) => COMPRESSED.test(name))) {
      const bytes = await readFile(join(dir, file));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
      await writeFile(join(dir, `${file}.br`), await compress(bytes, { params }));
    }
  },
});

export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [react(), tailwindcss(), compressedBeside()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    // A data: address would need a hole in the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Charts are large, and loaded where one is.
    chunkSizeWarningLimit: 700,
  },
  server: {
    port: 4101,
    host: "127.0.0.1",
    // A service of one's own, started with `npm start`.
    proxy: Object.fromEntries(
      [
        "/graphql",
        "/session",
        "/page",
        "/operator",
        "/exports",
        "/proofs",
        "/demo",
        "/health",
        "/roots",
        "/log-heads",
        "/deployment-keys",
      ].map((path) => [
        path,
        // With the host that the browser asked: the demo acts for pages of its own origin alone.
        { target: process.env.HOLDERBOOK_URL ?? "http://localhost:4000", changeOrigin: false },
      ]),
    ),
  },
});
