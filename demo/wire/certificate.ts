/** Certificate of a checkpoint: aggregated signature and bitmap of signers. */
import { type CommitteeMember, QUORUM } from "../../src/ledger/proof/committee.ts";
import { blsSign } from "./bls.ts";
import { ByteWriter } from "./byte-writer.ts";

export type Validator = CommitteeMember & { readonly secret: bigint };

/** Scope `CheckpointSummary`, version 0, application Sui. */
const INTENT = Uint8Array.of(2, 0, 0);

/** A checkpoint's certificate, signed on demand. */
export class Certificate {
  readonly epoch: bigint;
  /** Roaring bitmap of signers' indexes in the committee. */
  readonly signers: Uint8Array;
  readonly #secret: bigint;
  readonly #message: Uint8Array;
  #signature: Uint8Array | undefined;

  /** @param committee ordered by key */
  constructor(
    epoch: bigint,
    committee: readonly Validator[],
    checkpoint: { readonly summary: Uint8Array; readonly digest: Uint8Array },
  ) {
    const signers = quorumOf(committee, checkpoint.digest);
    this.epoch = epoch;
    this.signers = roaringBitmap(signers);
    this.#secret = signers.reduce((sum, place) => sum + (committee[place]?.secret ?? 0n), 0n);
    this.#message = new ByteWriter().raw(INTENT).raw(checkpoint.summary).u64(epoch).done();
  }

  /** A compressed point of G1: 48 bytes. */
  get signature(): Uint8Array {
    this.#signature ??= blsSign(this.#secret, this.#message);
    return this.#signature;
  }
}

/** Indexes of signers, ascending. The digest determines who abstains, as long as a quorum signs. */
const quorumOf = (committee: readonly Validator[], digest: Uint8Array): readonly number[] => {
  const [start = 0, asked = 0] = digest;
  const count = committee.length;
  const signers = new Set(committee.keys());
  let stake = committee.reduce((sum, member) => sum + member.stake, 0n);
  for (let n = 0; n < asked % count; n += 1) {
    const place = (start + n) % count;
    const left = stake - (committee[place]?.stake ?? 0n);
    if (left < QUORUM) continue;
    stake = left;
    signers.delete(place);
  }
  return [...signers];
};

/** Ascending small numbers as one array container of the portable format. */
const roaringBitmap = (values: readonly number[]): Uint8Array => {
  const writer = new ByteWriter()
    .u32(12_346) // cookie: no run containers
    .u32(1) // one container
    .u16(0) // its key: the upper 16 bits
    .u16(values.length - 1)
    .u32(16); // where its values start
  for (const value of values) writer.u16(value);
  return writer.done();
};
