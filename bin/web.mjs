/**
 * Builds the page (`web/`) when what it is made of has changed: `node bin/web.mjs` waits for it; a start
 * of the service does it beside, at low priority, and does not wait.
 *
 * A build replaces the one before at once, so that a service never reads half of one. Two starts at the
 * same time build once.
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
/** Holds what the build was made of, so that a newer one is made only when that has changed. */
const stamp = join(dist, "made-of");
const building = join(root, "node_modules", ".holderbook", "web");
/** A build takes seconds: one older than this was killed, milliseconds. */
const ABANDONED_MS = 120_000;

/** Folders that are built or installed. */
const MADE = /[\\/](?:\.?dist[^\\/]*|node_modules)[\\/]/;

/** Everything that goes into the page. */
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

/** True when this process may build: no other one does. */
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

/** Resolves to whether there is a page of what lies here now. */
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
          // Whoever starts it, a test run too: React has another, larger half for development.
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

/** Begins to build the page beside this process where it is stale and can be built; never waits. */
export const buildPageBeside = () => {
  // An image has the page and not what builds it.
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
  // The service comes first.
  if (isBeside) setPriority(19);
  const there = await build();
  if (!there)
    process.stderr.write("holderbook: the page was not built; another build may be under way\n");
  process.exitCode = there ? 0 : 1;
  // Programs in this folder import `holderbook/client`.
  if (isBeside) emitClient();
}
