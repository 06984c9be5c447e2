/** Batches of a guided range, made of its staged excerpts. */
import { createBlockBuilder } from "../../log/block.ts";
import {
  type BlockPiece,
  type CheckpointMark,
  type CoinDecimals,
  factBytes,
  type JoinedPackage,
  type LogCommittee,
  type ReadFact,
  type StretchProof,
} from "../../log/fact.ts";
import { splitType } from "../../values/move-type.ts";
import { decodeExcerpt } from "../decode/decode.ts";
import { refusing } from "../decode/verify.ts";
import type { ListedRange } from "../history/ledger-index.ts";
import { type CertifiedSummary, readCertified } from "../proof/certificate.ts";
import { CertificateError } from "../proof/proof-errors.ts";
import { createWanted, factsOf } from "../reading/facts.ts";
import type { BatchBounds, GatheredBatch } from "../reading/gathering.ts";
import { decimalsIn, joiningPackages } from "../reading/read.ts";
import type { Discovered } from "./discovered.ts";
import { StagingIncompleteError } from "./guided-errors.ts";
import { type FoundExcerpt, type Staging, stagedAfter } from "./staging.ts";

type FoundBatches = Pick<Discovered, "packages" | "coins" | "committeeOf"> & {
  readonly staging: Pick<Staging, "after">;
  readonly range: ListedRange;
  /** Packages in the log. */
  readonly known: readonly string[];
  /** Epochs whose committees are in the log. */
  readonly epochs: ReadonlySet<bigint>;
  readonly bounds: BatchBounds;
};

/** A found checkpoint with what is appended of it. */
type Read = {
  readonly mark: CheckpointMark;
  readonly certified: CertifiedSummary;
  readonly facts: readonly ReadFact[];
  readonly joined: readonly JoinedPackage[];
  readonly bytes: number;
};

/**
 * Ascending batches that cover the range: facts of the contract and of its coins' metadata. Found
 * checkpoints without any are left out, except ends of epochs, which name committees, and the last.
 * @throws CheckpointDecodeError (retry), StagingIncompleteError (retry)
 */
export async function* foundBatches(of: FoundBatches): AsyncGenerator<GatheredBatch> {
  const { range, bounds } = of;
  const named = new Set(of.epochs);
  const known = [...of.known];
  let batch = beginBatch(range.first);
  let reached: bigint | null = null;
  for await (const found of stagedAfter(of.staging, range.first - 1n)) {
    if (found.checkpoint > range.last) break;
    const read = readFound(found, of, known);
    known.push(...read.joined.map(({ address }) => address));
    const { sequence } = read.mark;
    const isEnd = read.certified.nextCommittee !== null;
    if (read.facts.length + read.joined.length === 0 && !isEnd && sequence !== range.last) continue;
    reached = sequence;
    batch.add(read, committeesOf(read.certified, of, named));
    if (!batch.isFull(bounds)) continue;
    yield batch.done();
    batch = beginBatch(sequence + 1n);
  }
  if (reached !== range.last) throw new StagingIncompleteError(range.last);
  if (!batch.isEmpty()) yield batch.done();
}

const digests = refusing(false);

const readFound = (
  { checkpoint: sequence, excerpt }: FoundExcerpt,
  { packages, coins }: Pick<FoundBatches, "packages" | "coins">,
  known: readonly string[],
): Read => {
  const checkpoint = decodeExcerpt({ sequence, bytes: excerpt }, createWanted(packages), digests);
  const own: ReadonlySet<string> = new Set(packages);
  const facts = factsOf(checkpoint).filter(
    ({ type, coinType }) =>
      own.has(splitType(type).address) || (coinType !== null && coins.has(coinType)),
  );
  const { digest, timestampMs } = checkpoint;
  return {
    mark: { sequence, digest, timestampMs },
    certified: readCertified({ sequence, encoding: "protobuf", bytes: excerpt }),
    facts,
    joined: joiningPackages(checkpoint, known),
    bytes: excerpt.byteLength,
  };
};

/** Committees new to the log: the one that signed, and the one that an epoch's end names. */
const committeesOf = (
  { header: { epoch }, nextCommittee }: CertifiedSummary,
  { committeeOf }: Pick<FoundBatches, "committeeOf">,
  named: Set<bigint>,
): readonly LogCommittee[] => {
  const epochs = nextCommittee === null ? [epoch] : [epoch, epoch + 1n];
  return epochs.flatMap((each) => {
    if (named.has(each)) return [];
    named.add(each);
    return committeeOf(each) ?? [];
  });
};

const beginBatch = (first: bigint) => {
  const beganMs = performance.now();
  const marks: CheckpointMark[] = [];
  const facts: ReadFact[] = [];
  const coins: CoinDecimals[] = [];
  const joined: JoinedPackage[] = [];
  const proofs: StretchProof[] = [];
  const committees: LogCommittee[] = [];
  const pieces: {
    readonly first: bigint;
    readonly builder: ReturnType<typeof createBlockBuilder>;
  }[] = [];
  let last: CheckpointMark | undefined;
  let [bytes, held] = [0, 0];
  return {
    isEmpty: () => last === undefined,
    isFull: (bounds: BatchBounds) =>
      facts.length >= bounds.facts || held >= bounds.bytes || proofs.length >= bounds.checkpoints,
    add: (read: Read, newCommittees: readonly LogCommittee[]) => {
      const { mark, certified } = read;
      const { sequence } = mark;
      if (last === undefined || last.sequence + 1n !== sequence) {
        pieces.push({ first: sequence, builder: createBlockBuilder() });
      }
      pieces.at(-1)?.builder.add(mark);
      last = mark;
      bytes += read.bytes;
      held += read.facts.reduce((sum, fact) => sum + factBytes(fact), certified.summary.byteLength);
      if (read.facts.length > 0) marks.push(mark);
      facts.push(...read.facts);
      coins.push(...read.facts.flatMap(decimalsIn));
      joined.push(...read.joined);
      committees.push(...newCommittees);
      const { certificate, summary, header } = certified;
      if (certificate === null)
        throw new CertificateError(sequence, "was staged without its certificate");
      const { signature, signers } = certificate;
      const stretch = { firstCheckpoint: sequence, lastCheckpoint: sequence, epoch: header.epoch };
      proofs.push({ ...stretch, summary, signature, signers });
    },
    done: (): GatheredBatch => {
      if (last === undefined) throw new Error("a batch without checkpoints");
      const blocks = pieces.map(
        ({ first: begin, builder }): BlockPiece => ({ first: begin, ...builder.packed() }),
      );
      return {
        batch: { first, last, marks, blocks, guided: true, facts, joined, proofs, committees },
        coins,
        checkpoints: proofs.length,
        skipped: 0,
        rawBytes: bytes,
        beganMs,
        decodedMs: performance.now(),
      };
    },
  };
};
