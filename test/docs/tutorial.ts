/**
 * A tutorial, done as its reader does it: its shell blocks in order and in one shell, its files written where
 * it says. What a block prints is what the block `text` below it shows.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The service that is already running, in the place of the one that the reader has started. */
export type Running = {
  readonly url: string;
  readonly dataDir: string;
  /** In the place of 8080. */
  readonly port: number;
};

/** What npm runs for `npm run holderbook`. */
export const script = async (): Promise<string> => {
  const manifest: unknown = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  return z.object({ scripts: z.object({ holderbook: z.string() }) }).parse(manifest).scripts
    .holderbook;
};

/** A command of a page, and what it shows below it; a file that is saved is a command, too. */
export type Step = {
  readonly language: "sh" | "console";
  readonly command: string;
  /** Empty where nothing is to be seen. */
  readonly shown: string;
};

/** Fenced blocks of a page, those of list items too. */
const blocksIn = (page: string) =>
  [...page.matchAll(/^( *)```(sh|console|js|text)\n([\s\S]*?)^\1```$/gm)].map(
    ([, indent = "", language, lines = ""]) => {
      const text = lines.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      /** Where the reader saves it: the page says so above it, and its first line again. */
      const file = language === "js" ? /^\/\/ (\S+\.mjs)\n/.exec(text)?.[1] : undefined;
      return { language, text, file };
    },
  );

const tutorial = (name: string): Promise<string> =>
  readFile(join(ROOT, "docs", "tutorials", `${name}.md`), "utf8");

/** A file that the reader saves. */
export const savedFile = async (name: string, path: string): Promise<string> => {
  const block = blocksIn(await tutorial(name)).find(({ file }) => file === path);
  if (block === undefined) throw new Error(`${name} has no file ${path}`);
  return block.text;
};

/** What the reader of a page does, in order. */
export const stepsIn = (page: string): readonly Step[] => {
  const blocks = blocksIn(page);
  return blocks.flatMap(({ language, text, file }, index): readonly Step[] => {
    const below = blocks[index + 1];
    const shown = below?.language === "text" ? below.text : "";
    if (language === "sh" || language === "console") return [{ language, command: text, shown }];
    if (file === undefined) return [];
    return [{ language: "sh", command: `cat > ${file} <<'// END'\n${text}// END\n`, shown: "" }];
  });
};

/** What the reader of a tutorial does, in order. */
export const stepsOf = async (name: string): Promise<readonly Step[]> =>
  stepsIn(await tutorial(name));

/**
 * What a page shows, as what may be seen. `…` is anything of a line, and a line of it any lines; a word with a
 * digit in it is any word, and a number any number: registers move on, and keys and digests are made anew.
 */
export const pattern = (shown: string): RegExp => {
  const lines = shown.split(/(?<=\n)/).map((line) =>
    line === "…\n"
      ? "(?:.*\\n)*?"
      : line
          .replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")
          .replaceAll(/\b\d+\b|\b\w*\d\w*\b/g, (word) => (/^\d+$/.test(word) ? "\\d+" : "\\w+"))
          .replaceAll(/ {2,}/g, " +")
          .replaceAll("…", ".*?"),
  );
  return new RegExp(`^${lines.join("")}$`);
};

/** Between what one step prints and the next. */
const MARK = "\u001e";

/** What a reader saw of each step, and what the page shows there. */
export type Seen = Step & { readonly seen: string };

/**
 * A step that fails fails the tutorial, and says what was printed before.
 * @param withNpm commands are run by npm, which takes a third of a short command's time; else by what npm would run
 */
export const done = async (name: string, { url, dataDir, port }: Running, withNpm: boolean) => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-tutorial-"));
  try {
    // A folder that is the project's to npm and to Node; what the reader makes is not made in the project.
    for (const entry of await readdir(ROOT)) {
      if (!/^(\..*|docs|try|web)$/.test(entry)) {
        await symlink(join(ROOT, entry), join(folder, entry));
      }
    }
    await mkdir(join(folder, "docs"));
    await symlink(join(ROOT, "docs", "examples"), join(folder, "docs", "examples"));
    await symlink(dataDir, join(folder, ".holderbook"));
    const before = await readdir(folder);
    const steps = (await stepsOf(name)).filter(({ language }) => language === "sh");
    const program = await script();
    const lines = [
      "set -e -o pipefail; exec 2>&1; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT",
      ...steps.map(({ command }) => {
        const typed = here(command, { url, port });
        return `${withNpm ? typed : typed.replaceAll(WITH_NPM, program)}printf '${MARK}'`;
      }),
    ];
    const { stdout } = await run("bash", ["-c", lines.join("\n")], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, LOG_LEVEL: "warn" },
      timeout: 280_000,
      maxBuffer: 16 * 1024 * 1024,
    }).catch((error: Error & { readonly stdout?: string }) => {
      throw new Error(`${name}: ${error.message}\n${error.stdout}`);
    });
    const printed = stdout.split(MARK);
    const left = (await readdir(folder)).filter((path) => !before.includes(path));
    const seen: readonly Seen[] = steps.map((step, index) => ({
      ...step,
      shown: here(step.shown, { url, port }),
      seen: printed[index] ?? "",
    }));
    return { seen, left };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const WITH_NPM = "npm run --silent holderbook --";

const here = (text: string, { url, port }: Pick<Running, "url" | "port">): string =>
  text.replaceAll("http://localhost:4000", url).replaceAll("8080", `${port}`);
