/**
 * Brings node_modules up to package-lock.json, and finds the Node that the project runs on.
 *
 * Plain JavaScript that any Node from 20 runs: everything after it runs on the pinned Node that the
 * npm package `node` brings.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** True when the project is itself a dependency: then another project installs its packages. */
export const installedAsDependency = root.split(sep).includes("node_modules");

const packagesIn = (lockFile) => {
  try {
    return JSON.parse(readFileSync(lockFile, "utf8")).packages ?? {};
  } catch {
    return undefined;
  }
};

/** Why an install is needed, or undefined when node_modules already matches the lock file. */
const reasonToInstall = (development) => {
  const wanted = packagesIn(join(root, "package-lock.json"));
  if (wanted === undefined) return undefined;
  // npm records what it installed here; comparing versions needs no stamp file of our own.
  const present = packagesIn(join(root, "node_modules", ".package-lock.json"));
  if (present === undefined) return "node_modules is missing";
  for (const [path, { version, optional, devOptional, dev }] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = present[path];
    // Optional packages of other platforms are never installed; tools are left out of an image.
    if (found === undefined && (optional || (!development && (dev || devOptional)))) continue;
    if (found?.version !== version) return `${path} is not at ${version}`;
  }
  if (!existsSync(nodeBinary())) return "the Node binary is missing";
  return undefined;
};

/** Path of the pinned Node. */
export const nodeBinary = () => {
  if (!installedAsDependency) {
    const name = process.platform === "win32" ? "node.exe" : "node";
    return join(root, "node_modules", "node", "bin", name);
  }
  const home = dirname(createRequire(import.meta.url).resolve("node/package.json"));
  return join(home, "bin", process.platform === "win32" ? "node.exe" : "node");
};

/**
 * Installs when node_modules is missing or stale. Ends the process when the install fails.
 *
 * @param {{ development: boolean }} needs whether the tools of development must be there too
 */
export const installIfStale = ({ development }) => {
  if (installedAsDependency) return;
  const reason = reasonToInstall(development);
  if (reason === undefined) return;
  process.stderr.write(`holderbook: installing packages (${reason})\n`);
  // npm's own report goes to standard error: standard output belongs to the command.
  const { status, error } = spawnSync(
    "npm",
    ["ci", "--no-audit", "--no-fund", "--loglevel=error"],
    {
      cwd: root,
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    },
  );
  if (status !== 0) {
    process.stderr.write(`holderbook: npm ci failed${error ? `: ${error.message}` : ""}\n`);
    process.exit(1);
  }
  const left = reasonToInstall(development);
  if (left !== undefined) {
    process.stderr.write(
      `holderbook: after npm ci, ${left}. The install script of the npm package "node" must be allowed to run.\n`,
    );
    process.exit(1);
  }
};
