/**
 * Adds a migration to `drizzle/`: the tables' changes since the last one. Released migrations must
 * not change, because databases identify them by content: `drizzle/hashes.json` holds each hash,
 * and a test compares.
 * npm run migration <name>
 * npm run migration <name> -- --custom     starts an empty one
 * Triggers and data changes are written by hand at the end of a new file. Until it lands, update
 * its hash:
 * npm run migration -- --hash
 */
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import config from "../drizzle.config.ts";
import { root } from "./install.mjs";
import { launch } from "./launch.mjs";

const CUSTOM = "--custom";

const [name = "", ...others] = process.argv.slice(2).filter((word) => word !== CUSTOM);
const custom = process.argv.includes(CUSTOM) ? [CUSTOM] : [];
const target = join(root, "drizzle");

const fail = (why) => {
  process.stderr.write(`${why}\n`);
  process.exitCode = 1;
};

const sqlIn = async (folder) =>
  (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();

const HASH = "--hash";

/** Records the newest migration's hash; earlier hashes stay. */
const noteHash = async () => {
  const noted = join(target, "hashes.json");
  const hashes = JSON.parse(await readFile(noted, "utf8"));
  const newest = (await sqlIn(target)).at(-1);
  hashes[newest] = createHash("sha256")
    .update(await readFile(join(target, newest)))
    .digest("hex");
  await writeFile(noted, `${JSON.stringify(hashes, null, 2)}\n`);
};

const add = async () => {
  // Elsewhere first: concurrent tests must not see half of it.
  const making = join(root, ".holderbook", `migration-${process.pid}`);
  const out = join(making, "drizzle");
  try {
    await mkdir(making, { recursive: true });
    await cp(target, out, { recursive: true });
    const configFile = join(making, "drizzle.config.json");
    // drizzle-kit resolves every path, even an absolute one, below its working folder.
    await writeFile(configFile, JSON.stringify({ ...config, out: relative(root, out) }));
    const kit = join(root, "node_modules", "drizzle-kit", "bin.cjs");
    await launch([kit, "generate", ...custom, "--name", name, "--config", configFile], {
      cwd: root,
    });
    const before = await sqlIn(target);
    const [added] = (await sqlIn(out)).filter((file) => !before.includes(file));
    if (added === undefined) return fail("drizzle-kit made no migration; drizzle/ is unchanged");
    // drizzle-kit exits with 0 even if a table file fails to load, and drops its tables.
    const generated = await readFile(join(out, added), "utf8");
    if (/^DROP TABLE/m.test(generated)) {
      return fail("the migration would drop a table; drizzle/ is unchanged");
    }
    await cp(out, target, { recursive: true });
    await noteHash();
    process.stderr.write(`drizzle/${added}\n`);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
};

if (process.argv.includes(HASH)) await noteHash();
else if (!/^[a-z][a-z0-9_]*$/.test(name) || others.length > 0) {
  fail("name the migration, in lower-case letters, digits and _: npm run migration <name>");
} else await add();
