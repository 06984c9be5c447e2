/**
 * Installs node_modules per package-lock.json and finds the pinned Node. Plain JavaScript for any
 * Node from 20: everything later runs on the Node of the npm package `node`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** True if another project depends on this one, and installs its packages. */
export const installedAsDependency = root.split(sep).includes("node_modules");

const packagesIn = (lockFile) => {
  try {
    return JSON.parse(readFileSync(lockFile, "utf8")).packages ?? {};
  } catch {
    return undefined;
  }
};

/** Why an install is needed; undefined if node_modules matches the lock file. */
const reasonToInstall = (development) => {
  const wanted = packagesIn(join(root, "package-lock.json"));
  if (wanted === undefined) return undefined;
  // npm records its installs here, so no stamp file is needed.
  const present = packagesIn(join(root, "node_modules", ".package-lock.json"));
  if (present === undefined) return "node_modules is missing";
  for (const [path, { version, optional, devOptional, dev }] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = present[path];
    // Other platforms' optional packages are never installed; images omit development tools.
    if (found === undefined && (optional || (!development && (dev || devOptional)))) continue;
    if (found?.version !== version) return `${path} is not at ${version}`;
  }
  if (!existsSync(nodeBinary())) return "the Node binary is missing";
  return undefined;
};

export const nodeBinary = () => {
  if (!installedAsDependency) {
    const name = process.platform === "win32" ? "node.exe" : "node";
    return join(root, "node_modules", "node", "bin", name);
  }
  const home = dirname(createRequire(import.meta.url).resolve("node/package.json"));
  return join(home, "bin", process.platform === "win32" ? "node.exe" : "node");
};

/**
 * Installs if node_modules is missing or stale; a failed install ends the process.
 * @param {{ development: boolean }} needs whether development tools are required
 */
export const installIfStale = ({ development }) => {
  if (installedAsDependency) return;
  const reason = reasonToInstall(development);
  if (reason === undefined) return;
  process.stderr.write(`holderbook: installing packages (${reason})\n`);
  // npm reports on standard error: standard output belongs to the command.
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
