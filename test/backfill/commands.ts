/** `holderbook backfill` and `work backfill` as processes, over a ledger that is divided. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { writeCommittee } from "../ledger/committee-file.ts";
import type { TestDatabase } from "../postgres.ts";
import { endWithRun } from "../run-folder.ts";
import { temporaryFolder } from "../service/process.ts";
import type { divideLedger } from "./divided-ledger.ts";

const MAIN = join(import.meta.dirname, "../../src/commands/main.ts");

type Process = {
  readonly child: ChildProcess;
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>;
};

export const backfillCommands = async (
  ledger: Awaited<ReturnType<typeof divideLedger>>,
  { url }: Pick<TestDatabase, "url">,
  settings: Readonly<Record<string, string>> = {},
) => {
  const folder = await temporaryFolder();
  const env = {
    ...{ DATABASE_URL: url, LEDGER_SOURCE: ledger.store.base.href, VERIFY: "signatures" },
    ...{ SECURITY_TOKEN_PACKAGES: ledger.packages.join(","), FETCH_CONCURRENCY: "4" },
    COMMITTEE_FILE: await writeCommittee(folder.path, ledger.committee),
    ...{ LOG_LEVEL: "warn", ...settings },
  };
  const said: string[] = [];
  const running = new Set<ChildProcess>();
  // The program itself: a signal to the launcher would not stop it.
  const run = (args: readonly string[], own: Readonly<Record<string, string>> = {}): Process => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, ...own },
      stdio: ["ignore", "pipe", "pipe"],
    });
    endWithRun(child);
    running.add(child);
    child.once("close", () => running.delete(child));
    for (const output of [child.stdout, child.stderr]) {
      output.on("data", (text: Buffer) => said.push(text.toString()));
    }
    return { child, ended: once(child, "close").then(([code]) => code) };
  };
  return {
    env,
    work: (own?: Readonly<Record<string, string>>) =>
      run(["work", "backfill", "--threads", "1"], own),
    join: (range: number, own?: Readonly<Record<string, string>>) =>
      run(["backfill", "--from", "0", "--to", `${ledger.last}`, "--range", `${range}`], own),
    /** The end of what they printed. */
    said: () => said.join("").slice(-2_000),
    [Symbol.asyncDispose]: async () => {
      // SIGKILL also ends one that lies still.
      await Promise.all([...running].map((child) => child.kill("SIGKILL") && once(child, "close")));
      await folder[Symbol.asyncDispose]();
    },
  };
};
