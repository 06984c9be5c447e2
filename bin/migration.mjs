/**
 * Writes `drizzle/` anew from the tables in the code: one initial migration, as long as no version has
 * been released. From the first release on this becomes plain `drizzle-kit generate`.
 */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import config from "../drizzle.config.ts";
import { root } from "./install.mjs";
import { launch } from "./launch.mjs";

// Beside the target first: whoever runs tests meanwhile must not meet half a folder.
const making = join(root, ".holderbook", `migration-${process.pid}`);
const out = join(making, "drizzle");
try {
  await mkdir(making, { recursive: true });
  const configFile = join(making, "drizzle.config.json");
  await writeFile(configFile, JSON.stringify({ ...config, out }));
  const generate = ["generate", "--name", "init", "--config", configFile];
  const kit = join(root, "node_modules", "drizzle-kit", "bin.cjs");
  await launch([kit, ...generate], { cwd: root });
  const file = join(out, "0000_init.sql");
  // drizzle-kit ends with code 0 even when a file with tables cannot be loaded.
  const generated = await readFile(file, "utf8").catch(() => {
    process.stderr.write("drizzle-kit made no migration; drizzle/ is left as it was\n");
    process.exitCode = 1;
    return undefined;
  });
  // What drizzle cannot express.
  const byHand = await readFile(join(root, "src", "log", "append-only.sql"), "utf8");
  if (generated !== undefined) {
    await writeFile(file, `${generated}--> statement-breakpoint\n${byHand}`);
    await rm(join(root, "drizzle"), { recursive: true, force: true });
    await cp(out, join(root, "drizzle"), { recursive: true });
  }
} finally {
  await rm(making, { recursive: true, force: true });
}
