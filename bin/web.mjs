/**
 * Builds the page (`web/`) if its sources changed: `node bin/web.mjs` waits; the service starts it
 * in the background at low priority. The new build replaces the old one atomically, and concurrent
 * starts build only once.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { emitClient } from "./client.mjs";
import { nodeBinary, root } from "./install.mjs";

const web = join(root, "web");
const dist = join(web, "dist");
/** Records the build's inputs, to detect changes. */
const stamp = join(dist, "made-of");
const building = join(root, "node_modules", ".holderbook", "web");
/** A build takes seconds: an older one was killed. Milliseconds. */
const ABANDONED_MS = 120_000;

/** Built or installed folders, and what the type checker keeps. */
const MADE = /[\\/](?:\.?dist[^\\/]*|node_modules)[\\/]|\.tsbuildinfo$/;

const sources = () =>
  ["web", "client"].flatMap((folder) =>
    existsSync(join(root, folder))
      ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .filter((path) => !MADE.test(path.slice(root.length)))
          .sort()
      : [],
  );

const madeOf = () => {
  const digest = createHash("sha256");
  for (const path of [...sources(), join(root, "package-lock.json")]) {
    digest.update(path.slice(root.length)).update("\0").update(readFileSync(path)).update("\0");
  }
  return digest.digest("hex");
};

const built = () => {
  try {
    return readFileSync(stamp, "utf8");
  } catch {
    return undefined;
  }
};

const begin = () => {
  mkdirSync(join(building, ".."), { recursive: true });
  try {
    mkdirSync(building);
    return true;
  } catch {
    const begun = statSync(building, { throwIfNoEntry: false });
    if (begun !== undefined && Date.now() - begun.mtimeMs < ABANDONED_MS) return false;
    rmSync(building, { recursive: true, force: true });
    return begin();
  }
};

/** Resolves to whether the page is current. */
const build = async () => {
  const wanted = madeOf();
  if (built() === wanted) return true;
  if (!begin()) return false;
  try {
    const out = join(building, "dist");
    const code = await new Promise((resolve, reject) => {
      const vite = join(root, "node_modules", "vite", "bin", "vite.js");
      const child = spawn(
        nodeBinary(),
        [vite, "build", web, "--outDir", out, "--logLevel", "warn"],
        {
          cwd: root,
          stdio: ["ignore", 2, 2],
          // In test runs, too: React has another, larger half for development.
          env: { ...process.env, NODE_ENV: "production" },
        },
      );
      child.on("error", reject);
      child.on("exit", resolve);
    });
    if (code !== 0) return false;
    writeFileSync(join(out, "made-of"), wanted);
    rmSync(dist, { recursive: true, force: true });
    renameSync(out, dist);
    return true;
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
};

/** Starts a background build if the page is stale and can be built; never waits. */
export const buildPageBeside = () => {
  // Images have the page but not its build tools.
  if (!existsSync(join(web, "index.html")) || !existsSync(join(root, "node_modules", "vite")))
    return;
  spawn(process.execPath, [fileURLToPath(import.meta.url), "beside"], {
    cwd: root,
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
  }).unref();
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isBeside = process.argv[2] === "beside";
  // Low priority: the service comes first.
  if (isBeside) setPriority(19);
  const there = await build();
  if (!there)
    process.stderr.write("holderbook: the page was not built; another build may be under way\n");
  process.exitCode = there ? 0 : 1;
  // Programs in this folder import `holderbook/client`.
  if (isBeside) emitClient();
}
