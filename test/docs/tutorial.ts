/** A tutorial, done as its reader does it: its shell blocks in order, its files written where it says. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The service that is already running, in the place of the one that the reader has started. */
export type Running = {
  readonly url: string;
  readonly dataDir: string;
  /** In the place of 8080. */
  readonly port: number;
};

const BLOCKS = /^```(sh|js)\n([\s\S]*?)^```$/gm;

/** What the blocks print; a block that fails fails the tutorial, and says what was printed before. */
export const done = async (name: string, { url, dataDir, port }: Running): Promise<string> => {
  const page = await readFile(join(ROOT, "docs", "tutorials", `${name}.md`), "utf8");
  const folder = await mkdtemp(join(tmpdir(), "holderbook-tutorial-"));
  try {
    // A folder that is the project's to npm and to Node; what the reader makes is not made in the project.
    for (const entry of await readdir(ROOT)) {
      if (!/^(\..*|docs|web)$/.test(entry)) await symlink(join(ROOT, entry), join(folder, entry));
    }
    await mkdir(join(folder, "docs"));
    await symlink(join(ROOT, "docs", "examples"), join(folder, "docs", "examples"));
    const script = ["set -e -o pipefail"];
    for (const [, language, block = ""] of page.matchAll(BLOCKS)) {
      const here = block
        .replaceAll("http://localhost:4000", url)
        .replaceAll(".holderbook/", `${dataDir}/`)
        .replaceAll("8080", `${port}`);
      const file = /^\/\/ (\S+\.mjs)\n/.exec(block)?.[1];
      if (language === "sh") script.push(here);
      else if (file !== undefined) await writeFile(join(folder, file), here);
    }
    const { stdout } = await run("bash", ["-c", script.join("\n")], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, LOG_LEVEL: "warn" },
      timeout: 100_000,
      maxBuffer: 16 * 1024 * 1024,
    }).catch((error: Error & { readonly stdout?: string; readonly stderr?: string }) => {
      throw new Error(`${name}: ${error.message}\n${error.stdout}\n${error.stderr}`);
    });
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
