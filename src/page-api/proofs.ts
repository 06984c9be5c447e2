/**
 * `GET /proofs/{checkpoint}`: the proof of a checkpoint with its parts, so that anyone can verify
 * it.
 */
import type { z } from "zod";
import type { Readers, Reads } from "../database/readers.ts";
import { HttpError } from "../http/http-error.ts";
import { json, type Route, route, type Who } from "../http/route.ts";
import { CheckpointDecodeError, Cursor } from "../ledger/decode/cursor.ts";
import { readSummary } from "../ledger/decode/summary.ts";
import { readBitmap } from "../ledger/proof/certificate.ts";
import { type Committee, QUORUM, TOTAL_STAKE, unpackCommittee } from "../ledger/proof/committee.ts";
import { CommitteeError } from "../ledger/proof/proof-errors.ts";
import { isBetween, summaryProof } from "../log/between.ts";
import { blocksFilledTo, checkpointMark } from "../log/blocks.ts";
import type { LogCommittee, StretchProof } from "../log/fact.ts";
import { committeeInLog, proofOf } from "../log/proofs.ts";
import type { Pipeline } from "../pipelines/pipeline.ts";
import type { FindSummaries } from "../projections/asking.ts";
import { pipelineDigest } from "../projections/digests.ts";
import { QuarantinedError } from "../projections/held-coins.ts";
import { BeforeLogError, BetweenReadError, NotYetIndexedError } from "../projections/past.ts";
import type { VerifyLevel } from "../settings/values.ts";
import { proofAnswer } from "./answers.ts";

export type ProofSettings = {
  /** Read-only, with a statement timeout. */
  readonly readers: Readers;
  readonly reader: Who<unknown>;
  readonly pipelines: readonly Pipeline[];
  /** The configured level; the log keeps proofs of signatures only. */
  readonly verify: VerifyLevel;
  /** Finds checkpoints between those that were read. */
  readonly findSummaries: FindSummaries;
};

type Answer = z.infer<typeof proofAnswer>;

export const proofRoutes = ({
  readers,
  reader,
  pipelines,
  verify,
  findSummaries,
}: ProofSettings): readonly Route[] => [
  route({
    method: "GET",
    path: "/proofs/:checkpoint",
    who: reader,
    operationId: "checkpointProof",
    summary: "What proves a checkpoint",
    description:
      "Signatures are verified before a checkpoint enters the log (`VERIFY=signatures`), one for each stretch of checkpoints; inside it each names the digest of the one before. The signature is over the bytes 2, 0, 0, the summary's BCS and the epoch as u64, little-endian (BLS12-381, G1 signatures).",
    params: { checkpoint: "Its number." },
    answer: json("CheckpointProof", proofAnswer, "The proof."),
    refusals: [404],
    handle: async ({ params: { checkpoint = "" }, signal }) => {
      if (!/^\d{1,18}$/.test(checkpoint)) {
        throw new HttpError(400, "checkpoint: must be a checkpoint number");
      }
      const asked = BigInt(checkpoint);
      if (await isBetween(readers.for(signal, FEW_ROWS), asked)) {
        await findSummaries([{ kind: "checkpoint", checkpoint: asked }], signal);
      }
      const snapshot = readers.snapshot(signal, FEW_ROWS);
      try {
        return await proven(snapshot, asked, { pipelines, verify });
      } finally {
        snapshot.end();
      }
    },
  }),
];

/** Weight of look-ups by key, see `Admission`. */
const FEW_ROWS = 100;

/** @throws HttpError 404 for a checkpoint that the log lacks */
const proven = async (
  on: Reads,
  asked: bigint,
  { pipelines, verify }: Pick<ProofSettings, "pipelines" | "verify">,
): Promise<Answer> => {
  const [mark, before, proof, digests] = await Promise.all([
    checkpointMark(on, asked),
    asked === 0n ? null : checkpointMark(on, asked - 1n),
    proofOf(on, asked).then((proof) => proof ?? summaryProof(on, asked)),
    digestsAt(on, pipelines, asked),
  ]);
  if (mark === null) throw new HttpError(404, await reasonMissing(on, asked));
  const known = {
    checkpoint: asked.toString(),
    digest: mark.digest,
    timestamp: new Date(Number(mark.timestampMs)).toISOString(),
    previousDigest: before?.digest ?? null,
    pipelineDigests: digests,
  };
  return proof === null
    ? { ...known, ...withoutProof(verify) }
    : { ...known, ...(await withProof(on, asked, proof)) };
};

/** A signed checkpoint names the one before, which the log may lack. */
type Proven = Omit<
  Answer,
  "checkpoint" | "digest" | "timestamp" | "previousDigest" | "pipelineDigests"
> &
  Partial<Pick<Answer, "previousDigest">>;

const NO_PROOF = {
  epoch: null,
  contentDigest: null,
  signedCheckpoint: null,
  summaryBcs: null,
  certificate: null,
  committee: null,
};

const withoutProof = (verify: VerifyLevel): Proven => ({
  ...NO_PROOF,
  ...(verify === "off"
    ? { verification: "none", how: "Nothing of it was verified: VERIFY is off." }
    : {
        verification: "links",
        how: "No signature of the validators was verified when it was read. With the settings as they are now, its digests are checked, and that it follows the checkpoint before it: that shows that nothing was damaged or left out, not that the validators made it.",
      }),
});

const withProof = async (on: Reads, asked: bigint, proof: StretchProof): Promise<Proven> => {
  const { lastCheckpoint: signed, epoch } = proof;
  const [committee, signedMark] = await Promise.all([
    committeeInLog(on, epoch),
    checkpointMark(on, signed),
  ]);
  const read = committee === null ? null : partsOf(proof, committee);
  // Computed per request, so that a later change of the log shows.
  if (read === null || committee === null || signedMark?.digest !== read.header.digest) {
    return {
      ...NO_PROOF,
      verification: "none",
      how: "The log has a proof that does not fit it: the database was changed. `holderbook verify --log` has the details; restore a backup.",
    };
  }
  const { header, members, places } = read;
  const signers = members.members.flatMap((_, index) =>
    places.has(index) ? [signerAt(members, index)] : [],
  );
  const stake = signers.reduce((sum, one) => sum + BigInt(one.stake), 0n);
  const links = Number(signed - asked);
  return {
    epoch: epoch.toString(),
    contentDigest: links === 0 ? header.contentDigest : null,
    ...(links === 0 && { previousDigest: header.previousDigest }),
    verification: "signatures",
    how: howOf(signers.length, members.members.length, stake, links, signed),
    signedCheckpoint: { checkpoint: signed.toString(), digest: header.digest, links },
    summaryBcs: textOf(proof.summary),
    certificate: {
      epoch: epoch.toString(),
      signature: textOf(proof.signature),
      signersBitmap: textOf(proof.signers),
      signers,
      signedStake: stake.toString(),
      totalStake: TOTAL_STAKE.toString(),
      threshold: QUORUM.toString(),
    },
    committee: {
      epoch: epoch.toString(),
      namedBy: committee.namedBy?.toString() ?? null,
      members: members.members.map((_, index) => ({
        ...signerAt(members, index),
        signed: places.has(index),
      })),
    },
  };
};

/** The parts of a proof; null for unreadable bytes. */
const partsOf = (proof: StretchProof, committee: LogCommittee) => {
  try {
    const { header } = readSummary(new Cursor(proof.summary, proof.lastCheckpoint));
    const members = unpackCommittee(proof.epoch, committee.members);
    const places = readBitmap(proof.signers, members.members.length);
    return places === null ? null : { header, members, places: new Set(places) };
  } catch (error) {
    if (error instanceof CheckpointDecodeError || error instanceof CommitteeError) return null;
    throw error;
  }
};

const howOf = (signers: number, of: number, stake: bigint, links: number, signed: bigint) => {
  const who = `${signers} of ${of} validators, with ${stake} of ${TOTAL_STAKE} votes,`;
  return links === 0
    ? `${who} signed it. The signature was verified before it entered the log.`
    : `${who} signed checkpoint ${signed}, which was verified before both entered the log. Each of the ${links} checkpoints after this one, up to that, was seen to name the digest of the one before it.`;
};

const signerAt = ({ members }: Committee, index: number) => {
  const { publicKey = new Uint8Array(), stake = 0n } = members[index] ?? {};
  return { index, publicKey: textOf(publicKey), stake: stake.toString() };
};

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

const digestsAt = (
  on: Reads,
  pipelines: readonly Pipeline[],
  at: bigint,
): Promise<Answer["pipelineDigests"]> =>
  Promise.all(
    pipelines.map((pipeline) =>
      pipelineDigest(on, pipeline, at)
        .catch((error: unknown) => {
          if (error instanceof NotYetIndexedError || error instanceof BeforeLogError) return null;
          // A digest is over the rows of all coins.
          if (error instanceof QuarantinedError) return null;
          throw error;
        })
        .then((digest) => ({ pipeline: pipeline.name, digest })),
    ),
  );

const reasonMissing = async (on: Reads, asked: bigint): Promise<string> => {
  if (await isBetween(on, asked)) {
    return new BetweenReadError({ kind: "checkpoint", checkpoint: asked }).message;
  }
  const known = await blocksFilledTo(on);
  if (known === null || known.nextCheckpoint <= known.firstCheckpoint) {
    return "no checkpoint is in the log yet";
  }
  const { firstCheckpoint, nextCheckpoint } = known;
  if (asked < firstCheckpoint) {
    return `checkpoint ${asked} lies before the log begins, at checkpoint ${firstCheckpoint}`;
  }
  if (asked >= nextCheckpoint) {
    return `checkpoint ${asked} is not in the log yet; the last one is ${nextCheckpoint - 1n}`;
  }
  return `time and digest of checkpoint ${asked} are still being filled in`;
};
