import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { readCertified } from "../../src/ledger/proof/certificate.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { GENUINE_FOLDER } from "../genuine.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

const BEFORE = join(GENUINE_FOLDER, "15918264.chk");
const SIGNED = join(GENUINE_FOLDER, "16005062.chk");
const verify = (...args: readonly string[]) => runCommand(["verify", ...args], {});

let digest: string;
beforeAll(async () => {
  ({ digest } = readCertified(await readCheckpointFile(BEFORE)).header);
});

test("a genuine checkpoint is verified against the committee named by the epoch's last checkpoint", async () => {
  const { code, stdout } = await verify(SIGNED, "--committee-from", BEFORE);
  expect(code).toBe(0);
  expect(stdout).toContain("signed by 61 of 105 validators, stake 6684 of 10000");
  expect(stdout).toContain(`as ${BEFORE} says`);
  expect(stdout).toContain("not covered: users' signatures beside the transactions");

  const pinned = ["--committee-from", BEFORE, "--trust", digest, "--json"];
  const json = JSON.parse((await verify(SIGNED, ...pinned)).stdout);
  expect(json).toMatchObject({
    holds: true,
    checkpoints: 1,
    stretches: [{ first: "16005062", signed: { signers: 61, members: 105, stake: "6684" } }],
  });

  // Both files: the first one is trusted by its digest and names the committee of the second.
  const both = await verify(SIGNED, BEFORE, "--trust", digest);
  expect(both.stdout).toContain("checkpoint 15918264, epoch 188: the trusted digest");
  expect(both.stdout).toContain("checkpoint 16005062, epoch 189: signed by 61 of 105");
  expect(both.code).toBe(0);
});

test("failures are named by checkpoint, with exit code 1", async () => {
  await using folder = await temporaryFolder();
  const bytes = await readFile(SIGNED);
  const changed = async (at: number) => {
    const file = join(folder.path, "16005062.chk");
    await writeFile(file, bytes.with(at, (bytes[at] ?? 0) ^ 1));
    return verify(file, "--committee-from", BEFORE);
  };
  // The transactions' own bytes are the last ones; the number of all transactions is in the summary.
  const object = await changed(bytes.length - 1);
  expect(object).toMatchObject({ code: 1, stdout: "" });
  expect(object.stderr).toMatch(
    /VerificationError: checkpoint 16005062: Object 0x\w+ of .* fetch it/,
  );
  const summary = await changed(1 + 16);
  expect(summary).toMatchObject({ code: 1, stdout: "" });
  expect(summary.stderr).toContain("CertificateError: checkpoint 16005062: the signature is not");

  const early = await verify(BEFORE, "--committee-from", BEFORE, "--json");
  expect(early.code).toBe(1);
  expect(JSON.parse(early.stdout)).toMatchObject({ holds: false, checkpoint: "15918264" });

  const other = await verify(SIGNED, "--committee-from", BEFORE, "--trust", "1".repeat(32));
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain(`has digest ${digest}, not the trusted`);
});

test("a committee file is read, and its faults are named with their position", async () => {
  await using folder = await temporaryFolder();
  const { header, nextCommittee } = readCertified(await readCheckpointFile(BEFORE));
  const committee = {
    epoch: Number(header.epoch) + 1,
    members: nextCommittee?.map(({ publicKey, stake }, i) => ({
      publicKey: Buffer.from(publicKey).toString(i % 2 === 0 ? "base64" : "hex"),
      stake: i % 2 === 0 ? `${stake}` : Number(stake),
    })),
  };
  const file = join(folder.path, "committee.json");
  await writeFile(file, JSON.stringify({ chainId: "x", committee }));
  expect(await verify(SIGNED, "--committee-from", file)).toMatchObject({ code: 0 });

  await writeFile(file, JSON.stringify({ ...committee, members: [{ publicKey: "no", stake: 1 }] }));
  const wrong = await verify(SIGNED, "--committee-from", file);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("members[0].publicKey");
});

test("missing arguments are named", async () => {
  expect(await verify(SIGNED)).toMatchObject({ code: 2 });
  expect(await verify("--from", "5")).toMatchObject({ code: 2 });
  expect(await verify(SIGNED, "--to", "5", "--trust", digest)).toMatchObject({ code: 2 });
});

test("a range is verified epoch by epoch, from any kind of starting point", async () => {
  await using folder = await temporaryFolder();
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: 130, seed: 5, format: "binpb", epochLength: 40 });
  const source = ["--source", `dir:${dir}`];
  const file = ["--committee-from", join(dir, "ledger.json")];

  const all = await verify("--from", "0", "--to", "129", ...source, ...file);
  expect(all.code).toBe(0);
  expect(all.stdout).toContain("129 links to the checkpoint before, 4 signatures");
  expect(all.stdout).toMatch(/checkpoints 40 to 79, epoch 1: signed by \d+ of \d+ validators/);

  const end = readCertified(await readCheckpointFile(join(dir, "39.binpb.zst"))).header.digest;
  const stretches = async (...args: readonly string[]) =>
    JSON.parse((await verify(...args, ...source, "--json")).stdout).stretches;
  const last = [
    { first: "100", last: "119", epoch: "2" },
    { first: "120", last: "129", epoch: "3" },
  ];
  // From the committee of epoch 0, and from a checkpoint far before, the ends of epochs between are found.
  for (const trust of [file, ["--trust", `39:${end}`]]) {
    expect(await stretches("--from", "100", "--to", "129", ...trust)).toMatchObject(last);
  }
  // The end of the epoch before is found by its digest alone; one inside the range is met.
  expect(await stretches("--from", "45", "--to", "50", "--trust", end)).toMatchObject([
    { first: "45", last: "50", epoch: "1" },
  ]);
  expect(await stretches("--from", "10", "--to", "45", "--trust", end)).toMatchObject([
    { first: "10", last: "39", signed: null },
    { first: "40", last: "45", epoch: "1" },
  ]);

  const lost = await verify("--from", "90", "--to", "95", ...source, "--trust", end);
  expect(lost.code).toBe(1);
  expect(lost.stderr).toMatch(/TrustNotReachedError: dir:.* not the trusted/);

  // A checkpoint of another ledger in the middle: the links break there.
  const other = join(folder.path, "other");
  await writeDemoLedger({ dir: other, checkpoints: 60, seed: 6, format: "binpb", epochLength: 40 });
  await copyFile(join(other, "55.binpb.zst"), join(dir, "55.binpb.zst"));
  const mixed = await verify("--from", "0", "--to", "129", ...source, ...file);
  expect(mixed.code).toBe(1);
  expect(mixed.stderr).toContain("VerificationError: checkpoint 55: it follows one of digest");
});

test("a source that omits a checkpoint cannot make an audit begin after it", async () => {
  await using folder = await temporaryFolder();
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: 12, seed: 5, format: "binpb", epochLength: 40 });
  await rm(join(dir, "6.binpb.zst"));
  const committee = ["--committee-from", join(dir, "ledger.json")];
  const range = ["--from", "0", "--to", "11", "--retry-for", "0s"];
  const ran = await verify(...range, "--source", `dir:${dir}`, ...committee);
  expect(ran).toMatchObject({ code: 1, stdout: "" });
  expect(ran.stderr).toContain("checkpoint 6 is missing although");
  expect(ran.stderr).not.toMatch(/FIRST_CHECKPOINT|--first \d/);
});
