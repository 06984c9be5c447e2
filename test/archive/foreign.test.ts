// @module-tag thorough
/** `docs/examples/read_archive.py`: a reader that shares no code with the program, and no library. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportLog } from "../../src/archive/export-log.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { temporaryFolder } from "../service/process.ts";
import { factsIn, forged, manifestIn } from "./forging.ts";

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, "../../docs/examples/read_archive.py");

const isHere = await Promise.all([run("python3", ["-V"]), run("zstd", ["-V"])]).then(
  () => true,
  () => false,
);
if (!isHere) console.warn("no python3 or no zstd on this machine: read_archive.py is not tested");

let register: DemoRegister;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  [register, folder] = await Promise.all([demoRegister(), temporaryFolder()]);
  await register.advance(60, 1_000, { appendOnly: true });
});
afterAll(async () => {
  await register[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test.runIf(isHere)(
  "a stranger reads every fact and computes the chain with Python and zstd",
  async () => {
    const dir = join(folder.path, "archive");
    const limits = { maxFacts: 200, maxBytes: 1_000_000, maxCheckpoints: 20 };
    const { signal } = new AbortController();
    const { root, whole } = await exportLog(register.database, { folder: dir, limits, signal });
    const { files } = await manifestIn(dir);
    const { stdout } = await run("python3", ["-B", SCRIPT, dir, root]);
    expect(stdout).toContain(
      `${whole.facts} facts in ${whole.files} chunks lead to ${files.at(-1)?.after.facts}\n`,
    );
    for (const [name, facts] of Map.groupBy(await factsIn(dir), (fact) => fact.name)) {
      expect(stdout).toMatch(new RegExp(` ${facts.length}  ${name}\n`));
    }

    await forged(dir, (batch) => ({ ...batch, facts: batch.facts.slice(1) }));
    await expect(run("python3", ["-B", SCRIPT, dir, root])).rejects.toThrow("the root is not that");
  },
);
