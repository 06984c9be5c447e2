import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { generateKeyPair } from "../../client/index.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

test("a program that installed the package imports holderbook/client on plain Node, with types", async () => {
  const project = await mkdtemp(join(tmpdir(), "holderbook-client-"));
  try {
    const installed = join(project, "node_modules", "holderbook");
    await mkdir(installed, { recursive: true });
    const packed = await run("npm", ["pack", "--json", "--pack-destination", project], {
      cwd: root,
    });
    const [archive] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(packed.stdout));
    const unpack = ["-xzf", join(project, archive?.filename ?? ""), "--strip-components=1"];
    await run("tar", unpack, { cwd: installed });
    const { secretKey } = generateKeyPair();
    const program = `
      import { signRequest } from "holderbook/client";
      const { body } = signRequest({ secretKey: "${secretKey}", body: { b: 1, a: 2 } });
      const text: string = body;
      console.log(text);`;
    await writeFile(join(project, "program.mts"), program);
    const { stdout } = await run(process.execPath, ["program.mts"], { cwd: project });
    expect(stdout).toBe('{"a":2,"b":1}\n');

    // A wrong type must be an error: else the declarations were not found.
    await writeFile(join(project, "wrong.mts"), `${program}\nconst wrong: number = body;`);
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules", "@types")];
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"];
    const found = await run(
      process.execPath,
      [compiler, ...options, ...types, "program.mts", "wrong.mts"],
      { cwd: project },
    ).then(
      () => "",
      (error: { stdout: string }) => error.stdout,
    );
    expect(found.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^wrong\.mts\b.*'string' is not assignable to type 'number'/),
    ]);
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});
