/**
 * Emits the package `holderbook-client` from `client/` into `client/dist` if stale: `npm run
 * client`; also run by `npm test` and before packing.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nodeBinary, root } from "./install.mjs";

const client = join(root, "client");
const dist = join(client, "dist");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

const changedMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const isStale = () => {
  const sources = readdirSync(client).filter((name) => /\.(?:ts|mts|mjs|json)$/.test(name));
  const emittedMs = changedMs(join(dist, "index.js"));
  return sources.some((name) => changedMs(join(client, name)) >= emittedMs);
};

/** Returns the compiler's exit code; images have no compiler and do not need the package. */
export const emitClient = () => {
  if (!existsSync(compiler) || !isStale()) return 0;
  // Renamed as a whole, so that no reader sees half of it.
  const made = mkdtempSync(join(client, ".dist-"));
  try {
    const args = [compiler, "--project", client, "--outDir", made];
    const { status } = spawnSync(nodeBinary(), args, { cwd: root, stdio: ["ignore", 2, 2] });
    if (status !== 0) return status ?? 1;
    for (const name of ["noble.mjs", "noble.d.mts"]) {
      copyFileSync(join(client, name), join(made, name));
    }
    // The compiler rewrites imports only in JavaScript.
    for (const name of readdirSync(made).filter((each) => each.endsWith(".d.ts"))) {
      const text = readFileSync(join(made, name), "utf8");
      writeFileSync(join(made, name), text.replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
    }
    rmSync(dist, { recursive: true, force: true });
    renameSync(made, dist);
    return 0;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
};

if (process.argv[1] === import.meta.filename) process.exitCode = emitClient();
