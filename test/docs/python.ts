/** The reference verifiers in `docs/examples`, all jobs in one process of Python. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { z } from "zod";

/** Why the verifiers cannot run on this machine; null where they can. */
export const whyNoPython = async (): Promise<string | null> => {
  try {
    await promisify(execFile)("python3", ["-c", "import cryptography"]);
    return null;
  } catch {
    return "no python3 with the package cryptography on this machine";
  }
};

/** A check by its name in `judge.py`, and what it is given. */
export type Job = { readonly check: string; readonly input: object };

const verdict = z.discriminatedUnion("ok", [
  z.looseObject({ ok: z.literal(true) }),
  z.looseObject({ ok: z.literal(false), error: z.string(), file: z.string() }),
]);
export type Verdict = z.infer<typeof verdict>;

/** One verdict for each job, in their order. @throws Error with what Python wrote when it ends early */
export const judgedByPython = async (jobs: readonly Job[]): Promise<readonly Verdict[]> => {
  // Without -B it would leave compiled modules among the examples.
  const child = spawn("python3", ["-B", join(import.meta.dirname, "judge.py")]);
  child.stdin.on("error", () => undefined);
  child.stdin.end(jobs.map((job) => `${JSON.stringify(job)}\n`).join(""));
  const [said, wrote] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  const lines = said.split("\n").filter((line) => line !== "");
  if (lines.length !== jobs.length) {
    throw new Error(`Python judged ${lines.length} of ${jobs.length} jobs: ${wrote}`);
  }
  return lines.map((line) => verdict.parse(JSON.parse(line)));
};

const ran = z.object({ code: z.number(), stdout: z.string(), stderr: z.string() });

/** What the scripts do with arguments: one list for each run. */
export const runVerifier = async (
  script: "verify_pack.py" | "verify_statement.py",
  runs: readonly (readonly string[])[],
) => {
  const judged = await judgedByPython(
    runs.map((args) => ({ check: "run", input: { script, args } })),
  );
  return judged.map((one) => ran.parse(one));
};
