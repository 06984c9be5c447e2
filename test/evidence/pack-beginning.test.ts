/** The first register of a pack, as the deployment signed it, made again from the publication of the token's package on. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { runCommand } from "../commands/run-command.ts";
import { temporaryFolder } from "../service/process.ts";
import { edited, packOfVersion1, signAnew } from "./packs.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  // The one that the pack was made of.
  const options = { checkpoints: 60, seed: 5, format: "chk", epochLength: 20 } as const;
  await writeDemoLedger({ dir: folder.path, ...options });
});
afterAll(() => folder[Symbol.asyncDispose]());

const verify = async (pack: string, ...args: readonly string[]) => {
  const ran = await runCommand(["audit-pack", "verify", pack, "--json", ...args], {});
  const { verdict } = ran.stdout === "" ? { verdict: undefined } : JSON.parse(ran.stdout);
  return { ...ran, verdict };
};

/** Read from a checkpoint on; the token's package is published in 2. */
const since = (checkpoint: number) => [
  "--source",
  `dir:${folder.path}`,
  "--since",
  `${checkpoint}`,
];

test("read from the publication of its package on, a register taken as signed is complete; read from later on it is not", async () => {
  await using pack = await packOfVersion1("signed");
  const complete = ["--require", "complete"];
  for (const checkpoint of [0, 1, 2]) {
    const { code, verdict } = await verify(pack.path, ...since(checkpoint), ...complete);
    expect({ code, holds: verdict.complete.holds, checkpoint }).toEqual({
      code: 0,
      holds: true,
      checkpoint,
    });
    const begins = checkpoint === 0 ? "with the ledger itself" : "with the publication of 0x";
    expect(verdict.complete.by.join()).toContain(`they begin ${begins}`);
  }
  const later = await verify(pack.path, ...since(3), ...complete);
  expect(later).toMatchObject({ code: 3, verdict: { complete: { holds: null } } });
  expect(later.verdict.complete.not_shown.join()).toContain("from the publication of the token's");
});

test.each([
  ["a role", "later", '"checkpoint":"10","kind":"role"', '"checkpoint":"30","kind":"role"'],
  ["a role", "earlier", '"checkpoint":"10","kind":"role"', '"checkpoint":"3","kind":"role"'],
  [
    "a membership",
    "later",
    '"checkpoint":"12","kind":"membership"',
    '"checkpoint":"40","kind":"membership"',
  ],
  [
    "a membership",
    "earlier",
    '"checkpoint":"12","kind":"membership"',
    '"checkpoint":"4","kind":"membership"',
  ],
])(
  "%s claiming to have begun %s than it did is authentic, and refused where the ledger is read",
  async (_what, _when, before, after) => {
    await using pack = await packOfVersion1("signed");
    await edited(pack.path, "first/state.ndjson", (text) => text.replace(before, after));
    await signAnew(pack.path);
    const alone = await verify(pack.path);
    expect(alone, alone.stderr).toMatchObject({ code: 0, verdict: { complete: { holds: null } } });
    const read = await verify(pack.path, ...since(2));
    expect({ code: read.code, holds: read.verdict?.complete.holds }, read.stderr).toEqual({
      code: 1,
      holds: false,
    });
    expect(read.stdout + read.stderr).toContain("is not what the ledger made of it");
  },
);
