/** Proofs as they are handed out: enough to verify a checkpoint without us, and honest without a signature. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import { Cursor } from "../../src/ledger/decode/cursor.ts";
import { readSummary } from "../../src/ledger/decode/summary.ts";
import { loadBls } from "../../src/ledger/proof/bls.ts";
import { committeeOf } from "../../src/ledger/proof/committee.ts";
import { createVerifier } from "../../src/ledger/proof/prover.ts";
import { readerAt } from "../../src/ledger/reading/read.ts";
import { runReader } from "../../src/ledger/reading/reader.ts";
import { proofAnswer } from "../../src/page-api/answers.ts";
import type { VerifyLevel } from "../../src/settings/values.ts";
import { changeProof } from "../log/damage.ts";
import { type OperatorApi, serveOperator } from "../operator/service.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const NEWEST = 69n;
const EPOCH = 40;
const FIRST = 10n;

const ledger = createDemoLedger({ seed: 11, epochLength: EPOCH });
const { chainId, packages, committee } = ledger;
const genuine = Array.from({ length: Number(NEWEST) + 1 }, (_, i): RawCheckpoint => {
  return { sequence: BigInt(i), encoding: "protobuf", bytes: ledger.next().raw("protobuf") };
});

const readInto = (database: TestDatabase, level: VerifyLevel): Promise<void> =>
  runReader(
    {
      database,
      source: {
        description: "test",
        chainId: async () => chainId,
        latest: async () => NEWEST,
        checkpoints: async function* ({ first, last = NEWEST }) {
          yield* genuine.slice(Number(first), Number(last) + 1);
        },
        close: async () => {},
      },
      read: readerAt(level),
      verification: { level, trust: async () => ({ committee }) },
      packages,
      firstCheckpoint: FIRST,
      last: NEWEST,
      bounds: { checkpoints: 25 },
    },
    AbortSignal.timeout(20_000),
  );

let database: TestDatabase;
let api: OperatorApi;

beforeAll(async () => {
  database = await freshDatabase();
  await readInto(database, "signatures");
  api = await serveOperator(database, { verify: "signatures" });
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

const proofAt = async (checkpoint: bigint | number, from = api) => {
  const { status, text } = await from.get(`/proofs/${checkpoint}`);
  expect(status, text).toBe(200);
  return proofAnswer.parse(JSON.parse(text));
};

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, "base64"));

test("anyone with a proof can verify it: the summary's digest, the signers' stake, their signature", async () => {
  const bls = await loadBls();
  for (let at = FIRST; at <= NEWEST; at += 1n) {
    const proof = await proofAt(at);
    const { certificate, committee: shown, signedCheckpoint, summaryBcs } = proof;
    if (certificate === null || shown === null || signedCheckpoint === null) {
      throw new Error(`checkpoint ${at} is not proven`);
    }
    expect(proof.verification).toBe("signatures");
    const signed = BigInt(signedCheckpoint.checkpoint);
    expect(signedCheckpoint.links).toBe(Number(signed - at));
    const summary = bytesOf(summaryBcs ?? "");
    const { header } = readSummary(new Cursor(summary, signed));
    expect(header.digest).toBe(signedCheckpoint.digest);
    expect(header.epoch).toBe(BigInt(proof.epoch ?? -1));
    if (signed === at) expect(proof.contentDigest).toBe(header.contentDigest);
    const members = shown.members.map(({ publicKey, stake }) => ({
      publicKey: bytesOf(publicKey),
      stake: BigInt(stake),
    }));
    const verifier = createVerifier(bls, committeeOf(BigInt(shown.epoch), members));
    const { stake, signers } = verifier.verify({
      header,
      summary,
      nextCommittee: null,
      objectSet: null,
      certificate: {
        epoch: BigInt(certificate.epoch),
        signature: bytesOf(certificate.signature),
        signers: bytesOf(certificate.signersBitmap),
      },
    });
    expect(certificate.signedStake).toBe(stake.toString());
    expect(certificate.signers).toHaveLength(signers);
    const marked = shown.members.filter(({ signed: did }) => did);
    expect(marked.map(({ publicKey }) => publicKey)).toEqual(
      certificate.signers.map(({ publicKey }) => publicKey),
    );
  }
});

test("digests lead from one checkpoint to the next, and committees from epoch to epoch", async () => {
  let before: string | null = null;
  for (let at = FIRST; at <= NEWEST; at += 1n) {
    const { digest, previousDigest } = await proofAt(at);
    expect(previousDigest).toBe(before);
    before = digest;
  }
  expect((await proofAt(EPOCH - 1)).committee).toMatchObject({ epoch: "0", namedBy: null });
  expect((await proofAt(EPOCH)).committee).toMatchObject({ epoch: "1", namedBy: "39" });
});

test("a checkpoint read without signatures says so, whatever the settings", async () => {
  await using other = await freshDatabase();
  await readInto(other, "links");
  for (const [verify, verification] of [
    ["links", "links"],
    ["signatures", "links"],
    ["off", "none"],
  ] as const) {
    await using own = await serveOperator(other, { verify });
    const proof = await proofAt(50, own);
    expect(proof).toMatchObject({
      verification,
      certificate: null,
      committee: null,
      summaryBcs: null,
      signedCheckpoint: null,
      epoch: null,
    });
    expect(proof.digest).toBe((await proofAt(50)).digest);
  }
});

test("a checkpoint missing from the log is 404 with the reason, and a malformed one 400", async () => {
  for (const [asked, status, reason] of [
    ["9", 404, "checkpoint 9 lies before the log begins, at checkpoint 10"],
    ["70", 404, "checkpoint 70 is not in the log yet; the last one is 69"],
    ["999999999999999999", 404, "is not in the log yet"],
    ["1e3", 400, "must be a checkpoint number"],
    ["-1", 400, "must be a checkpoint number"],
    ["9999999999999999999", 400, "must be a checkpoint number"],
  ] as const) {
    const reply = await api.get(`/proofs/${asked}`);
    expect([reply.status, reply.json.details]).toEqual([status, expect.stringContaining(reason)]);
  }
  await using empty = await freshDatabase();
  await using own = await serveOperator(empty);
  expect((await own.get("/proofs/1")).json.details).toBe("no checkpoint is in the log yet");
});

test("keys of the kinds graphql and operator read proofs, others do not", async () => {
  expect((await api.get("/proofs/50", api.keys.graphql)).status).toBe(200);
  expect((await api.get("/proofs/50", null)).status).toBe(401);
});

test("a proof changed in the database is not presented as one", async () => {
  await using other = await freshDatabase();
  await readInto(other, "signatures");
  await changeProof(other, 50n);
  await using own = await serveOperator(other);
  const proof = await proofAt(50, own);
  expect(proof).toMatchObject({ verification: "none", certificate: null });
  expect(proof.how).toContain("the database was changed");
  expect(z.string().parse(proof.digest)).toBe((await proofAt(50)).digest);
});
