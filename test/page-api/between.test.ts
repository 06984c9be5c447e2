/** Downloads and proofs between two checkpoints that were read, held against a log with every checkpoint. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSummaryFinder } from "../../src/ledger/reading/find-summaries.ts";
import { checkpointMark } from "../../src/log/blocks.ts";
import { proofAnswer } from "../../src/page-api/answers.ts";
import { guidedLog } from "../ledger/reading/guided-log.ts";
import { type OperatorApi, serveOperator } from "../operator/service.ts";

/** Neither was read guided. */
const [AT, OTHER] = [88n, 133n];

let logs: Awaited<ReturnType<typeof guidedLog>>;
let exhaustive: OperatorApi;
let guided: OperatorApi;

beforeAll(async () => {
  logs = await guidedLog();
  exhaustive = await serveOperator(logs.exhaustive, { verify: "signatures" });
  guided = await serveOperator(logs.guided, { verify: "signatures", waitMs: 50 });
}, 60_000);

afterAll(async () => {
  await Promise.all([exhaustive, guided].map((api) => api[Symbol.asyncDispose]()));
  await logs[Symbol.asyncDispose]();
});

const secondOf = async (checkpoint: bigint) =>
  `${((await checkpointMark(logs.exhaustive.db, checkpoint))?.timestampMs ?? 0n) / 1_000n}`;

const path = (what: string, query: Readonly<Record<string, string>>) =>
  `/exports/${what}?${new URLSearchParams({ coinType: logs.coinType, ...query })}`;

test("before they are found: 409 for a download, 404 for a proof, both say what to do", async () => {
  const refusals = await Promise.all([
    guided.get(path("cap-table", { atCheckpoint: `${AT}` })),
    guided.get(path("cap-table", { atTimestamp: await secondOf(AT) })),
    guided.get(path("statement", { atCheckpoint: `${AT}`, holderId: "1" })),
    guided.get(`/proofs/${AT}`),
  ]);
  expect(refusals.map(({ status }) => status)).toEqual([409, 409, 409, 404]);
  for (const { text } of refusals) {
    expect(text).toContain("lies between two checkpoints that were read");
    expect(text).toContain("ask again in a few seconds");
  }
});

test("once found, files and proofs are those of an exhaustive log, byte for byte", async () => {
  const finder = createSummaryFinder({
    sql: logs.guided.sql,
    source: logs.sourceOf().source,
  });
  const signal = AbortSignal.timeout(20_000);
  const second = await secondOf(OTHER);
  await finder.find({ kind: "checkpoint", checkpoint: AT }, signal);
  await finder.find({ kind: "second", unixSeconds: BigInt(second) }, signal);
  for (const moment of [{ atCheckpoint: `${AT}` }, { atTimestamp: second }]) {
    for (const format of ["csv", "json"]) {
      const file = path("cap-table", { ...moment, format, for: "programs" });
      const { status, bytes } = await guided.get(file);
      expect(status).toBe(200);
      expect(bytes).toEqual((await exhaustive.get(file)).bytes);
    }
  }
  const statement = path("statement", { atCheckpoint: `${AT}`, holderId: "1", version: "2" });
  const [made, expected] = [await guided.get(statement), await exhaustive.get(statement)];
  expect([made.status, expected.status], made.text).toEqual([200, 200]);
  const { row, root } = made.json;
  expect({ row, root }).toEqual({ row: expected.json.row, root: expected.json.root });

  const proof = proofAnswer.parse(JSON.parse((await guided.get(`/proofs/${AT}`)).text));
  const known = proofAnswer.parse(JSON.parse((await exhaustive.get(`/proofs/${AT}`)).text));
  expect(proof.pipelineDigests).toEqual(known.pipelineDigests);
  // Its own signature, where the exhaustive log has that of the stretch.
  expect(proof).toMatchObject({
    verification: "signatures",
    digest: known.digest,
    timestamp: known.timestamp,
    previousDigest: known.previousDigest,
    signedCheckpoint: { checkpoint: `${AT}`, digest: known.digest, links: 0 },
    committee: { epoch: known.committee?.epoch },
  });
});
