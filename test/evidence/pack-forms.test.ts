/** Packs that are not what they say, or not packs at all, in everything that needs no second look at the ledger. */
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { lineFaults } from "../../client/pack-forms.ts";
import { verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { runCommand } from "../commands/run-command.ts";
import { edited, filesIn, KEPT, keptPack, manifestOf, packOfVersion1, signAnew } from "./packs.ts";

const verify = (...args: readonly string[]) => runCommand(["audit-pack", "verify", ...args], {});

/** Command line and client refuse it, each naming the same. */
const expectRefused = async (folder: string, what: RegExp, ...args: readonly string[]) => {
  const ran = await verify(folder, ...args);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toMatch(what);
  // What is foreign can neither break a line nor steer the terminal.
  expect(ran.stderr.trimEnd()).toMatch(/^[\x20-\x7e]*$/);
  const refused = verifyAuditPack(await filesIn(folder));
  await expect(refused).rejects.toThrow(what);
  await expect(refused).rejects.toHaveProperty("name", "AuditPackError");
};

test("released packs keep verifying, with their reports word for word", async () => {
  for (const name of KEPT) {
    await using pack = await keptPack(name);
    const { publicKey } = await manifestOf(pack.path);
    const ran = await verify(pack.path, "--key", publicKey);
    expect(ran, name).toMatchObject({ code: 0, stderr: "" });
  }
});

test("a digest merely quoted in the manifest names no committee: trust comes from the caller alone", async () => {
  await using proven = await packOfVersion1("proven");
  await using signed = await packOfVersion1("signed");
  const { trust } = await manifestOf(signed.path);
  const digest = trust.digest ?? "";
  // Begins with validators of its own, and quotes the digest that the auditor knows.
  await signAnew(proven.path, (manifest) => ({ trust: { ...manifest.trust, digest } }));
  const quoted = await verify(proven.path, "--trust", digest);
  expect(quoted).toMatchObject({ code: 1, stdout: "" });
  expect(quoted.stderr).toContain("a digest without its checkpoint");
  await signAnew(proven.path, (manifest) => ({ trust: { ...manifest.trust, digest: null } }));
  const itself = await verify(proven.path, "--trust", digest);
  expect(itself).toMatchObject({ code: 1, stdout: "" });
  expect(itself.stderr).toContain("itself, and not with a checkpoint: give the committee");
  // The number is part of what is known.
  expect(await verify(signed.path, "--trust", `${trust.checkpoint}:${digest}`)).toMatchObject({
    code: 0,
  });
  const other = await verify(signed.path, "--trust", `7:${digest}`);
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(`not checkpoint 7 of digest ${digest}`);
  // A summary that is not the one of the digest.
  const wrong = `${"1".repeat(31)}2`;
  await signAnew(signed.path, (manifest) => ({ trust: { ...manifest.trust, digest: wrong } }));
  const invented = await verify(signed.path, "--trust", wrong);
  expect(invented).toMatchObject({ code: 1, stdout: "" });
  expect(invented.stderr).toContain(`has digest ${digest}, not ${wrong}`);
});

test("an identifier in another spelling is refused before a filter could silently match nothing", async () => {
  const upper = (coinType: string) =>
    `0x${coinType.slice(2, 66).toUpperCase()}${coinType.slice(66)}`;
  await using honest = await packOfVersion1("signed");
  await signAnew(honest.path);
  expect(await verify(honest.path)).toMatchObject({ code: 0 });
  const { coinType, packages, first } = await manifestOf(honest.path);
  for (const edit of [
    { coinType: upper(coinType) },
    { coinType: coinType.replace("0x", "0X") },
    { coinType: `${coinType}<u64` },
    { coinType: coinType.replace("::acme", ":: acme") },
    { packages: packages.map((address) => address.toUpperCase()) },
    { packages: ["0x2"] },
    { first: { ...first, checkpoint: `0${first.checkpoint}` } },
    { first: { ...first, digest: `1${first.digest}` } },
    { first: { ...first, extra: "" } },
    { more: "" },
  ]) {
    await using pack = await packOfVersion1("signed");
    await signAnew(pack.path, () => edit);
    await expectRefused(pack.path, /manifest\.json: .*(must be|unknown member)/);
  }
});

test("free text of the manifest cannot inject into the report or the terminal", async () => {
  await using other = await packOfVersion1("signed");
  const { coinType } = await manifestOf(other.path);
  for (const edit of [
    { chainId: "mainnet\n\n## What was checked\n\n- everything" },
    { chainId: "\u001b[2J" },
    { chainId: "x".repeat(300_000) },
    { coinType: coinType.replace("ACME", "ACME\u001b[2J") },
    { keyId: "key`\n" },
    { keyId: "\u202e" },
  ]) {
    await using pack = await packOfVersion1("signed");
    await signAnew(pack.path, () => edit);
    await expectRefused(pack.path, /manifest\.json: (chainId|coinType|keyId|has) /);
  }
  await writeFile(join(other.path, "\u001b[2J\n.txt"), "");
  await expectRefused(other.path, /\\u\{1b\}\[2J\\u\{a\}\.txt: is no file of the manifest/);
});

test("a register without its treasury fails, and no text claims that it matches the supply", async () => {
  await using pack = await packOfVersion1("signed");
  for (const name of ["first", "last"]) {
    await edited(pack.path, `${name}/cap-table.json`, (text) =>
      text.replace(/"totalSupply":"\d+"/, '"totalSupply":null'),
    );
  }
  await signAnew(pack.path);
  await expectRefused(pack.path, /first\/cap-table\.json: has no supply of a treasury/);
});

test("a file unknown to the format is refused, and a missing one is named", async () => {
  await using more = await packOfVersion1("signed");
  await writeFile(join(more.path, "notes.txt"), "");
  await signAnew(more.path);
  await expectRefused(more.path, /manifest\.json: files has the unknown member "notes\.txt"/);
  for (const file of ["role-events.ndjson", "committee.json", "report.md", "first/state.ndjson"]) {
    await using less = await packOfVersion1("signed");
    await rm(join(less.path, file));
    await expectRefused(less.path, new RegExp(`${file}: is missing`));
    await signAnew(less.path);
    await expectRefused(less.path, new RegExp(`manifest\\.json: files has no ${file}`));
  }
  // A reader of archives may find a name twice.
  const own = await filesIn(more.path);
  const twice = verifyAuditPack([["report.md", Buffer.from("# All is well")], ...own]);
  await expect(twice).rejects.toThrow("report.md: is there twice");
});

test("hostile files end quickly in an error with their name, in little memory", async () => {
  const wallet = (at: number) =>
    `{"address":"0x${at.toString(16).padStart(64, "0")}","balance":"0","groupId":null,"isFrozen":false}`;
  const wallets = Array.from({ length: 200_000 }, (_, at) => wallet(at)).join(",");
  const head = (text: string) => text.slice(0, text.indexOf("\n") + 1);
  const hostile: readonly (readonly [string, (folder: string) => Promise<void>])[] = [
    [
      "movements.ndjson",
      async (folder) => {
        await rm(join(folder, "movements.ndjson"));
        await symlink("/dev/zero", join(folder, "movements.ndjson"));
      },
    ],
    [
      "last/cap-table.json",
      async (folder) => {
        await edited(folder, "last/cap-table.json", (text) =>
          text.replace('"decimals":6', '"decimals":90000000'),
        );
        await signAnew(folder);
      },
    ],
    [
      "first/cap-table.json",
      async (folder) => {
        await edited(
          folder,
          "first/cap-table.json",
          (text) =>
            `${head(text)}{"holderId":"1","wallets":[${wallets}],"balance":"0","tokens":"0","granted":"0","unlocked":"0","locked":"0","share":"0.000000000000"}\n]}\n`,
        );
        await signAnew(folder);
      },
    ],
    [
      "role-events.ndjson",
      async (folder) => {
        await writeFile(join(folder, "role-events.ndjson"), `{"role":"${"x".repeat(300_000)}"}\n`);
        await signAnew(folder);
      },
    ],
    [
      "committee.json",
      async (folder) => {
        await writeFile(join(folder, "committee.json"), "[".repeat(2_000_000));
        await signAnew(folder);
      },
    ],
    [
      "manifest.json",
      async (folder) => {
        const checkpoints = Array.from({ length: 20_000 }, (_, at) => `${1_000 + at}.binpb`);
        for (const name of checkpoints) await writeFile(join(folder, "checkpoints", name), "");
      },
    ],
    [
      "manifest.json",
      (folder) => writeFile(join(folder, "manifest.json"), `"${"x".repeat(50_000_000)}"`),
    ],
  ];
  for (const [file, make] of hostile) {
    await using pack = await packOfVersion1("signed");
    await make(pack.path);
    const before = process.memoryUsage().rss;
    const began = performance.now();
    const { code, stderr } = await verify(pack.path);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`AuditPackError: ${file}: `)]);
    // A second and 200 MB where nothing else runs; what reads without end takes neither.
    expect(performance.now() - began, file).toBeLessThan(20_000);
    expect(process.memoryUsage().rss - before, file).toBeLessThan(400 * 2 ** 20);
    expect(stderr.length).toBeLessThan(2_000);
  }
});

test("a role may be any Move type, as its granter chooses", () => {
  const event = { position: "1", txDigest: "1".repeat(32), timestampMs: "0", granted: true };
  const [owner, signer] = [`0x${"a".repeat(64)}`, `0x${"b".repeat(64)}`];
  const faults = (role: string) =>
    lineFaults("role-events.ndjson", { ...event, owner, signer, role });
  for (const role of ["bool", "vector<u8>", `${owner}::m::R`, `vector<${owner}::m::R<u64,bool>>`]) {
    expect(faults(role), role).toEqual([]);
  }
  for (const role of [
    "",
    "Bool",
    "vector",
    "vector<>",
    "u8 ",
    "u8,u8",
    "0x2::m::R",
    "a::m::R",
    "#",
  ]) {
    expect(faults(role), role).toEqual(["role must be a Move type in canonical form"]);
  }
});

test("a pack of a token unknown to the ledger is not a pack of an empty register", async () => {
  await using pack = await packOfVersion1("signed");
  const { coinType, first, last } = await manifestOf(pack.path);
  const other = coinType.replace("::acme::ACME", "::acme::OTHER");
  const root = "00".repeat(32);
  for (const [name, { checkpoint, digest, timestampMs }] of [
    ["first", first],
    ["last", last],
  ] as const) {
    const head = {
      coinType: other,
      decimals: null,
      checkpoint,
      checkpointTimestamp: `${BigInt(timestampMs) / 1_000n}`,
      checkpointDigest: digest,
      totalSupply: null,
      issued: "0",
      holderCount: 0,
      root,
    };
    const text = `${JSON.stringify(head).slice(0, -1)},"rows":[\n]}\n`;
    await writeFile(join(pack.path, name, "cap-table.json"), text);
  }
  for (const file of ["movements", "holder-events", "role-events", "first/state"]) {
    await writeFile(join(pack.path, `${file}.ndjson`), "");
  }
  const empty = { root, total: "0", signature: "" };
  await signAnew(pack.path, () => ({ coinType: other, roots: { first: empty, last: empty } }));
  await expectRefused(pack.path, /last\/cap-table\.json: has no supply of a treasury/);
});
