import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DemoOptionError } from "../../demo/demo-ledger.ts";
import { FolderTakenError, writeDemoLedger } from "../../demo/write.ts";
import { decodeCheckpoint } from "../../src/ledger/decode/decode.ts";
import { directorySource } from "../../src/ledger/sources/directory.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-write-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const contentsOf = async (dir: string): Promise<ReadonlyMap<string, string>> => {
  const names = (await readdir(dir)).sort();
  const files = await Promise.all(names.map((name) => readFile(join(dir, name))));
  return new Map(names.map((name, n) => [name, files[n]?.toString("base64") ?? ""]));
};

test.each(["chk", "binpb"] as const)(
  "the same seed writes the same bytes, as %s",
  async (format) => {
    const write = async (name: string, seed: string) => {
      const dir = join(folder, `${name}-${format}`);
      await writeDemoLedger({ dir, checkpoints: 120, seed, format });
      return contentsOf(dir);
    };
    const [first, again, other] = [
      await write("first", "s"),
      await write("again", "s"),
      await write("other", "t"),
    ];
    expect(first.size).toBe(121);
    expect(again).toEqual(first);
    expect(other.get("ledger.json")).not.toBe(first.get("ledger.json"));
  },
);

test("the folder source reads the folder, and ledger.json describes it", async () => {
  const decoded = await Promise.all(
    (["chk", "binpb"] as const).map(async (format) => {
      const dir = join(folder, `read-${format}`);
      const ledger = await writeDemoLedger({ dir, checkpoints: 90, seed: 5, format });
      expect(JSON.parse(await readFile(join(dir, "ledger.json"), "utf8"))).toEqual(
        JSON.parse(JSON.stringify(ledger)),
      );
      expect(ledger).toMatchObject({ firstCheckpoint: 0, checkpoints: 90, seed: "5" });
      const source = directorySource({ path: dir });
      const { signal } = new AbortController();
      expect(await source.chainId(signal)).toBe(ledger.chainId);
      const all = [];
      for await (const raw of source.checkpoints({ first: 0n, last: 89n }, signal)) {
        all.push(decodeCheckpoint(raw));
      }
      await source.close();
      return all;
    }),
  );
  expect(decoded[0]?.length).toBe(90);
  expect(decoded[1]).toEqual(decoded[0]);
});

test("a non-empty folder is left unchanged", async () => {
  const dir = await mkdtemp(join(folder, "taken-"));
  await writeFile(join(dir, "mine.txt"), "mine");
  await expect(writeDemoLedger({ dir, checkpoints: 3, seed: 1, format: "chk" })).rejects.toThrow(
    FolderTakenError,
  );
  expect(await readdir(dir)).toEqual(["mine.txt"]);
});

test("an option out of bounds is named with its bounds", async () => {
  const dir = join(folder, "bounds");
  const options = { dir, checkpoints: 3, seed: 1, format: "chk" } as const;
  await expect(writeDemoLedger({ ...options, noise: 2 })).rejects.toThrow(DemoOptionError);
  await expect(writeDemoLedger({ ...options, investors: 0 })).rejects.toThrow(
    /investors must be from 1 to 1000000, not 0/,
  );
});
