/**
 * Verifies the validators' signatures of an archive, chunk by chunk: on its digests, by committees
 * that earlier signatures name.
 */
import { prepared, readProof } from "../audit/verify/check-proofs.ts";
import { type Committee, packMembers, unpackCommittee } from "../ledger/proof/committee.ts";
import { committeeAfter } from "../ledger/proof/prover.ts";
import { markIn, nextAfter } from "../log/block.ts";
import type { AppendBatch, BlockPiece, StretchProof } from "../log/fact.ts";
import { highest, lowest } from "../values/bigints.ts";

/** A signature, or a committee, is wrong; the message says which. */
export class SignatureFault extends Error {
  override readonly name = "SignatureFault";
}

export type SignatureCheck = {
  /** @throws SignatureFault */
  check(batch: AppendBatch): Promise<void>;
  /** Verified so far. */
  readonly signatures: number;
  /** Epochs whose committees nothing in the archive, and no setting, shows. */
  readonly trusted: readonly bigint[];
  /** Whether the given committee verified one; true when none was given. */
  readonly givenSigned: boolean;
  /** Checkpoints up to `last` that no signature claims. */
  unsigned(last: bigint): readonly Span[];
};

const spanOf = (piece: BlockPiece): Span => ({ first: piece.first, last: nextAfter(piece) - 1n });

type Span = { readonly first: bigint; readonly last: bigint };

/**
 * @param given a committee that is known from elsewhere
 * @param begin the archive's first checkpoint
 */
export const createSignatureCheck = (given: Committee | null, begin: bigint): SignatureCheck => {
  /** Packed members by epoch, as signed summaries name them. */
  const named = new Map<bigint, Uint8Array>();
  if (given !== null) named.set(given.epoch, packMembers(given.members));
  const trusted: bigint[] = [];
  let current: Awaited<ReturnType<typeof prepared>> | undefined;
  let signatures = 0;
  let givenSigned = given === null;
  /** First checkpoint after the stretches so far. */
  let due = begin;
  let newest: StretchProof | undefined;
  const gaps: Span[] = [];

  /** Checkpoints that were read from `due` up to `last`, which no signature claims. */
  const noteUnsigned = (last: bigint, { first, guided, blocks }: AppendBatch) => {
    if (last < due) return;
    const read = guided
      ? [{ first: due, last: first - 1n }, ...blocks.map(spanOf)]
      : [{ first: due, last }];
    for (const span of read) {
      const unsigned = { first: highest(due, span.first), last: lowest(last, span.last) };
      if (unsigned.first <= unsigned.last) gaps.push(unsigned);
    }
    due = last + 1n;
  };

  const verifierOf = async (epoch: bigint, { committees = [] }: AppendBatch) => {
    if (current?.committee.epoch === epoch) return current;
    const listed = committees.find((committee) => committee.epoch === epoch)?.members;
    const members =
      epoch === given?.epoch ? packMembers(given.members) : (named.get(epoch) ?? listed);
    if (members === undefined) throw new Error(`the committee of epoch ${epoch} is missing`);
    if (!named.has(epoch) && epoch !== given?.epoch) trusted.push(epoch);
    current = await prepared(unpackCommittee(epoch, members));
    // Proofs ascend: earlier epochs have ended.
    for (const known of named.keys()) if (known < epoch) named.delete(known);
    return current;
  };

  const checkProof = async (proof: StretchProof, batch: AppendBatch) => {
    const { firstCheckpoint, lastCheckpoint, epoch } = proof;
    // The next export has an epoch's last stretch again once it has grown.
    const grows = epoch === newest?.epoch && firstCheckpoint === newest.firstCheckpoint;
    if ((firstCheckpoint < due && !grows) || firstCheckpoint > lastCheckpoint) {
      throw new Error(
        `it is said to cover checkpoints from ${firstCheckpoint} on, but ${due} is due`,
      );
    }
    if (newest !== undefined && epoch < newest.epoch) {
      throw new Error(`it is of epoch ${epoch}, after one of epoch ${newest.epoch}`);
    }
    if (batch.guided && firstCheckpoint !== lastCheckpoint) {
      throw new Error(`it is said to cover checkpoints from ${firstCheckpoint} on, read guided`);
    }
    noteUnsigned(firstCheckpoint - 1n, batch);
    due = lastCheckpoint + 1n;
    newest = proof;
    const certified = readProof(proof);
    if (typeof certified === "string") throw new Error(certified);
    const { digest, timestampMs } = certified.header;
    const mark = markIn(batch.blocks, lastCheckpoint);
    if (mark === null) throw new Error("the chunk has no digest of its checkpoint");
    if (mark.digest !== digest || mark.timestampMs !== timestampMs) {
      throw new Error(
        `the signed summary has digest ${digest} and time ${timestampMs}, but the chunk ${mark.digest} and ${mark.timestampMs}`,
      );
    }
    (await verifierOf(epoch, batch)).verify(certified);
    signatures += 1;
    if (epoch === given?.epoch) givenSigned = true;
    const following = committeeAfter(certified);
    if (following === null) return;
    const members = packMembers(following.members);
    if (
      following.epoch === given?.epoch &&
      !Buffer.from(members).equals(packMembers(given.members))
    ) {
      throw new Error(
        `it names other validators for epoch ${following.epoch} than COMMITTEE_FILE does`,
      );
    }
    named.set(following.epoch, members);
  };

  return {
    check: async (batch) => {
      const { first, last, proofs = [], committees = [] } = batch;
      for (const proof of proofs) {
        const { lastCheckpoint } = proof;
        const fault = (what: string, options?: ErrorOptions) =>
          new SignatureFault(`the signature on checkpoint ${lastCheckpoint}: ${what}`, options);
        if (lastCheckpoint < first || lastCheckpoint > last.sequence) {
          throw fault("its checkpoint is in another chunk");
        }
        await checkProof(proof, batch).catch((cause: unknown) => {
          throw fault(cause instanceof Error ? cause.message : String(cause), { cause });
        });
      }
      // A stretch goes on in the next chunk, unless each checkpoint has a signature of its own.
      if (batch.guided) noteUnsigned(last.sequence, batch);
      for (const { epoch, members } of committees) {
        const right = named.get(epoch);
        if (right === undefined || Buffer.from(right).equals(members)) continue;
        throw new SignatureFault(`the committee of epoch ${epoch} is not the one that is named`);
      }
    },
    get signatures() {
      return signatures;
    },
    trusted,
    get givenSigned() {
      return givenSigned;
    },
    unsigned: (last) => (due > last ? gaps : [...gaps, { first: due, last }]),
  };
};
