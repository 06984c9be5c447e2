import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const ledgerFile = z.object({
  chainId: z.string(),
  packages: z.array(z.string()).min(2),
  coinTypes: z.array(z.object({ coinType: z.string() })).min(2),
});

const statusRows = z.array(
  z.object({
    pipeline: z.string(),
    checkpoint: z.string().nullable(),
    behindLog: z.string().nullable(),
  }),
);

test("a written ledger is indexed to its end, in both formats, and the same seed writes the same bytes", async () => {
  await using folder = await temporaryFolder();
  for (const [name, format] of [
    ["one", "chk"],
    ["two", "chk"],
    ["three", "binpb"],
  ]) {
    const written = await runCommand(
      ["demo", "write", "--dir", join(folder.path, name ?? ""), "--checkpoints", "150"].concat([
        "--seed",
        "7",
        "--format",
        format ?? "",
        "--investors",
        "12",
        "--noise",
        "0.5",
      ]),
      {},
    );
    expect(written).toMatchObject({ code: 0, stdout: "" });
  }
  const names = await readdir(join(folder.path, "one"));
  expect(names).toContain("ledger.json");
  expect(names.length).toBe(151);
  for (const name of names) {
    const [one, two] = await Promise.all(
      ["one", "two"].map((dir) => readFile(join(folder.path, dir, name))),
    );
    expect(one?.equals(two ?? Buffer.of())).toBe(true);
  }
  ledgerFile.parse(JSON.parse(await readFile(join(folder.path, "one", "ledger.json"), "utf8")));

  for (const [name, ending] of [
    ["one", "chk"],
    ["three", "binpb.zst"],
  ]) {
    await using database = await freshDatabase();
    const settings = {
      DATABASE_URL: database.url,
      LEDGER_SOURCE: `dir:${join(folder.path, name ?? "")}`,
    };
    const indexed = await runCommand(["index", "--last", "149"], settings);
    expect({ code: indexed.code, stdout: indexed.stdout }, indexed.stderr).toEqual({
      code: 0,
      stdout: "",
    });
    const status = await runCommand(["status", "--json"], settings);
    const rows = statusRows.parse(JSON.parse(status.stdout));
    expect(rows.map(({ checkpoint, behindLog }) => [checkpoint, behindLog])).toEqual(
      Array.from({ length: 6 }, () => ["149", "0"]),
    );

    const file = join(folder.path, name ?? "", `42.${ending}`);
    const inspected = await runCommand(["inspect", file], {});
    expect(JSON.parse(inspected.stdout)).toMatchObject({ sequence_number: "42" });
    const byNumber = await runCommand(["inspect", "42"], settings);
    expect(byNumber.stdout).toBe(inspected.stdout);
    const checked = await runCommand(["inspect", file, "--check"], {});
    expect({ code: checked.code, wrong: JSON.parse(checked.stdout).wrong }).toEqual({
      code: 0,
      wrong: [],
    });
  }
});

test("keys are printed once, on the last line, listed without their secret, and revoked", async () => {
  await using database = await freshDatabase();
  const settings = { DATABASE_URL: database.url };
  const created = await runCommand(
    ["keys", "create", "--kind", "graphql", "--label", "mine"],
    settings,
  );
  expect(created.code).toBe(0);
  const lines = created.stdout.trimEnd().split("\n");
  const secret = lines.at(-1) ?? "";
  expect(lines).toHaveLength(1);
  const listed = await runCommand(["keys", "list"], settings);
  expect(listed.stdout).not.toContain(secret);
  const { id } = z
    .object({ id: z.string(), label: z.literal("mine") })
    .parse(JSON.parse(listed.stdout));
  expect((await runCommand(["keys", "revoke", id], settings)).code).toBe(0);
  expect((await runCommand(["keys", "revoke", id], settings)).code).toBe(2);
});

test("an operator's key is made, listed and revoked like any other, and belongs to no project", async () => {
  await using database = await freshDatabase();
  const settings = { DATABASE_URL: database.url };
  const operator = ["keys", "create", "--kind", "operator"];
  const created = await runCommand([...operator, "--label", "desk"], settings);
  expect(created.code).toBe(0);
  expect(created.stdout).toMatch(/^hb_operator_[\w-]{43}\n$/);
  const listed = JSON.parse((await runCommand(["keys", "list"], settings)).stdout);
  expect(listed).toMatchObject({ kind: "operator", subject: null, label: "desk", revokedAt: null });
  expect((await runCommand(["keys", "revoke", listed.id], settings)).code).toBe(0);
  for (const wrong of [["--project", "acme"], ["--asset", "acme-sui"], ["--require-bound"]]) {
    expect((await runCommand([...operator, ...wrong], settings)).code).toBe(2);
  }
});

test("a log refuses another chain and names both", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  for (const [name, seed] of [
    ["one", "1"],
    ["other", "2"],
  ]) {
    const dir = join(folder.path, name ?? "");
    await runCommand(
      ["demo", "write", "--dir", dir, "--checkpoints", "5", "--seed", seed ?? ""],
      {},
    );
  }
  const indexed = (name: string) =>
    runCommand(["index", "--last", "4"], {
      DATABASE_URL: database.url,
      LEDGER_SOURCE: `dir:${join(folder.path, name)}`,
    });
  expect((await indexed("one")).code).toBe(0);
  const refused = await indexed("other");
  expect(refused.code).toBe(1);
  const ids = await Promise.all(
    ["one", "other"].map(async (name) =>
      ledgerFile.parse(JSON.parse(await readFile(join(folder.path, name, "ledger.json"), "utf8"))),
    ),
  );
  expect(refused.stderr).toContain("ChainMismatchError");
  for (const { chainId } of ids) expect(refused.stderr).toContain(chainId);
});

test("a damaged checkpoint file stops indexing there, naming its number and the damaged place", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const dir = join(folder.path, "ledger");
  await runCommand(["demo", "write", "--dir", dir, "--checkpoints", "40", "--seed", "3"], {});
  const file = join(dir, "30.chk");
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, bytes.length - 9));
  const settings = { DATABASE_URL: database.url, LEDGER_SOURCE: `dir:${dir}` };
  const { code, stderr } = await runCommand(
    ["index", "--last", "39", "--retry-for", "0"],
    settings,
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/checkpoint 30\b/);
  const status = await runCommand(["status", "--json"], settings);
  expect(statusRows.parse(JSON.parse(status.stdout))[0]).toMatchObject({ checkpoint: "29" });
});
