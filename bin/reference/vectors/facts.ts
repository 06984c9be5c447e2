/** Facts in vector form, and the test builders' facts with real digests. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { nameAndCoin } from "../../../src/ledger/reading/facts.ts";
import type { CheckpointMark, Fact } from "../../../src/log/fact.ts";
import { base58 } from "../../../src/values/base58.ts";
import { batchOf, type SaidCheckpoint } from "../../../test/pipelines/token-facts.ts";

const number = z.string().transform(BigInt);

const place = {
  checkpoint: number,
  transaction: z.string().transform(Number),
  index: z.string().transform(Number),
  timestampMs: number,
  type: z.string(),
  txDigest: z.string(),
  sender: z.string(),
};
const contents = z.base64().transform((text) => Buffer.from(text, "base64"));
const object = { objectId: z.string(), version: number };

/** Name and coin type follow from the type. */
export const fact = z
  .discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("event"), ...place, contents }),
    z.strictObject({ kind: z.literal("object"), ...place, ...object, contents }),
    z.strictObject({ kind: z.literal("removal"), ...place, ...object }),
  ])
  .transform((given): Fact => ({ ...given, ...nameAndCoin(given.type) }));

export const factJson = (given: Fact) => {
  const { kind, checkpoint, transaction, index, timestampMs, type, txDigest, sender } = given;
  return {
    kind,
    checkpoint: `${checkpoint}`,
    transaction: `${transaction}`,
    index: `${index}`,
    timestampMs: `${timestampMs}`,
    type,
    txDigest,
    sender,
    ...(given.kind === "event" ? {} : { objectId: given.objectId, version: `${given.version}` }),
    ...(given.kind === "removal"
      ? {}
      : { contents: Buffer.from(given.contents).toString("base64") }),
  };
};

export const digestOf = (text: string): string =>
  base58(createHash("sha256").update(text).digest());

export const markOf = (sequence: bigint): CheckpointMark => ({
  sequence,
  digest: digestOf(`checkpoint ${sequence}`),
  timestampMs: (1_700_000_000n + sequence) * 1_000n,
});

export const factsOf = (checkpoints: readonly SaidCheckpoint[]): readonly Fact[] =>
  batchOf(checkpoints).facts.map((one) => ({ ...one, txDigest: digestOf(one.txDigest) }));
