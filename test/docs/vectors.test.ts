/** The published test vectors, as somebody reads them who has nothing but the files; `reference.test.ts` judges each. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { JUDGES } from "../../bin/reference/vectors/files.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "docs", "reference", "vectors");
const files = await readdir(FOLDER);

const vectors = z.array(
  z.strictObject({
    name: z.string(),
    input: z.record(z.string(), z.json()),
    expect: z.discriminatedUnion("ok", [
      z.looseObject({ ok: z.literal(true) }),
      z.looseObject({ ok: z.literal(false), error: z.string() }),
    ]),
  }),
);
const vectorsIn = async (file: string) =>
  z
    .strictObject({
      about: z.string(),
      note: z.string(),
      keys: z.array(z.record(z.string(), z.string())),
      vectors: z.record(z.string(), vectors),
    })
    .parse(JSON.parse(await readFile(join(FOLDER, file), "utf8"))).vectors;

test("every check has a valid and a forged vector, and names are unique", async () => {
  const seen: string[] = [];
  for (const file of files) {
    for (const [kind, all] of Object.entries(await vectorsIn(file))) {
      seen.push(kind);
      expect(new Set(all.map(({ expect: { ok } }) => ok)), kind).toEqual(new Set([true, false]));
      expect(new Set(all.map(({ name }) => name)).size, kind).toBe(all.length);
    }
  }
  expect(seen.sort()).toEqual(Object.keys(JUDGES).sort());
});
