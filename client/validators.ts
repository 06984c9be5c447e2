/** The validators' signatures on a pack's checkpoints, committee by committee. */
import type { Member, SignedSummary } from "./excerpt.ts";
import { fail } from "./pack-error.ts";

/**
 * BLS12-381 with signatures in G1 and keys in G2 (docs/reference/formats.md, "Validators"), by a
 * library of the caller's: this package has none.
 */
export type Validators<Key = unknown> = {
  /** Parses a compressed key of 96 bytes; null if it is not in the group, or its neutral element. */
  readonly publicKey: (bytes: Uint8Array) => Key | null;
  /** Whether the 48-byte signature is valid for all these keys. */
  readonly verify: (signature: Uint8Array, message: Uint8Array, keys: readonly Key[]) => boolean;
};

/** First four bytes, little-endian, of a roaring bitmap without runs. */
const COOKIE = 12346;
/** Cookie and container count; then key, cardinality less one, offset. */
const HEADER_BYTES = 4 + 4 + 2 + 2 + 4;
/** Larger containers have another form. */
const MOST_IN_ARRAY = 4096;

/**
 * Numbers of a roaring bitmap, ascending, in the only form validators write (portable format, one
 * array container); null for other bytes, so each set has one encoding.
 * @param below exclusive limit of the numbers, at most 4096
 */
export const readBitmap = (bytes: Uint8Array, below: number): readonly number[] | null => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== COOKIE) return null;
  const containers = view.getUint32(4, true);
  if (containers === 0) return bytes.length === 8 ? [] : null;
  if (containers !== 1 || bytes.length < HEADER_BYTES || view.getUint16(8, true) !== 0) return null;
  const count = view.getUint16(10, true) + 1;
  if (count > Math.min(below, MOST_IN_ARRAY) || view.getUint32(12, true) !== HEADER_BYTES)
    return null;
  if (bytes.length !== HEADER_BYTES + 2 * count) return null;
  const places: number[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += 2) {
    const place = view.getUint16(at, true);
    if (place >= below || place <= (places.at(-1) ?? -1)) return null;
    places.push(place);
  }
  return places;
};

export type Committee = { readonly epoch: bigint; readonly members: readonly Member[] };

const TOTAL_STAKE = 10_000n;
const QUORUM = 6_667n;
/** "Checkpoint summary", version 0, application "Sui". */
const INTENT = Uint8Array.of(2, 0, 0);

const compareKeys = ({ publicKey: one }: Member, { publicKey: other }: Member): number => {
  const at = one.findIndex((byte, place) => byte !== other[place]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
};

/** Verifies signatures from the first committee on. */
export class Signatures<Key> {
  readonly #validators: Validators<Key>;
  #epoch: bigint;
  #voters: readonly { readonly key: Key; readonly stake: bigint }[];
  #verified = 0;
  #lowestStake = TOTAL_STAKE;

  constructor(validators: Validators<Key>, file: string, { epoch, members }: Committee) {
    this.#validators = validators;
    this.#epoch = epoch;
    this.#voters = this.#votersOf(file, members);
  }

  get epoch(): bigint {
    return this.#epoch;
  }

  get totals(): { readonly verified: number; readonly lowestStake: bigint } {
    return { verified: this.#verified, lowestStake: this.#lowestStake };
  }

  #votersOf(file: string, members: readonly Member[]) {
    const sorted = members.toSorted(compareKeys);
    const total = sorted.reduce((sum, { stake }) => sum + stake, 0n);
    const isWrong = sorted.some((member, at) => {
      const before = sorted[at - 1];
      const isTwice = before !== undefined && compareKeys(before, member) === 0;
      return member.publicKey.length !== 96 || member.stake <= 0n || isTwice;
    });
    if (isWrong || total !== TOTAL_STAKE) fail(file, "names a committee of no form");
    return sorted.map(({ publicKey, stake }) => {
      const key = this.#validators.publicKey(publicKey);
      return { key: key ?? fail(file, "names a validator without a valid key"), stake };
    });
  }

  /** Call in ascending order, with the ends of all epochs. @throws AuditPackError */
  prove(file: string, signed: SignedSummary): void {
    const { epoch, signedEpoch, summary, signature, bitmap, next } = signed;
    if (epoch !== this.#epoch || signedEpoch !== epoch) {
      fail(file, `is of epoch ${epoch}, but the committee is that of epoch ${this.#epoch}`);
    }
    const places =
      readBitmap(bitmap, this.#voters.length) ?? fail(file, "names signers of no form");
    const voters = places.flatMap((place) => this.#voters[place] ?? []);
    const stake = voters.reduce((sum, voter) => sum + voter.stake, 0n);
    if (stake < QUORUM)
      fail(file, `is signed by a stake of ${stake} of 10000, less than ${QUORUM}`);
    const message = new Uint8Array(INTENT.length + summary.length + 8);
    message.set(INTENT);
    message.set(summary, INTENT.length);
    new DataView(message.buffer).setBigUint64(INTENT.length + summary.length, epoch, true);
    const keys = voters.map(({ key }) => key);
    if (!this.#validators.verify(signature, message, keys)) {
      fail(file, `the signature is not that of the ${keys.length} validators it names`);
    }
    this.#verified += 1;
    if (stake < this.#lowestStake) this.#lowestStake = stake;
    if (next === null) return;
    this.#epoch += 1n;
    this.#voters = this.#votersOf(file, next);
  }
}
