/**
 * Adds a migration to `drizzle/`: what the tables in the code have beyond the last one. Migrations are
 * only ever added, because databases in the field know those they have by what is in them:
 * `drizzle/hashes.json` holds the hash of each, and a test compares.
 *
 *   npm run migration <name>
 *   npm run migration <name> -- --custom     begins an empty one
 *
 * What drizzle cannot express (triggers, the rewriting of data) is written by hand at the end of the
 * new file, whose hash is then noted anew, until it has landed:
 *
 *   npm run migration -- --hash
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

/** Notes the hash of the newest migration; those of all others stay as they are. */
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
  // Beside the target first: tests that run meanwhile must not meet half of it.
  const making = join(root, ".holderbook", `migration-${process.pid}`);
  const out = join(making, "drizzle");
  try {
    await mkdir(making, { recursive: true });
    await cp(target, out, { recursive: true });
    const configFile = join(making, "drizzle.config.json");
    // drizzle-kit reads what is there below its working folder, whatever a path begins with.
    await writeFile(configFile, JSON.stringify({ ...config, out: relative(root, out) }));
    const kit = join(root, "node_modules", "drizzle-kit", "bin.cjs");
    await launch([kit, "generate", ...custom, "--name", name, "--config", configFile], {
      cwd: root,
    });
    const before = await sqlIn(target);
    const [added] = (await sqlIn(out)).filter((file) => !before.includes(file));
    if (added === undefined) return fail("drizzle-kit made no migration; drizzle/ is as it was");
    // It ends with code 0 even when a file with tables cannot be loaded, and takes them for dropped.
    const generated = await readFile(join(out, added), "utf8");
    if (/^DROP TABLE/m.test(generated)) {
      return fail("the migration would drop a table; drizzle/ is as it was");
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
