/**
 * Excerpts of checkpoints, which prove some transactions and omit the rest.
 *
 * An excerpt is a `sui.rpc.v2.Checkpoint` with summary, signature, contents and, for its
 * transactions, data, effects, events, and objects written or removed. Other transactions are
 * empty.
 */
import type { Checkpoint, RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointDecodeError, Cursor } from "../decode/cursor.ts";
import { decodeExcerpt, type Wanted } from "../decode/decode.ts";
import { readEffects } from "../decode/effects.ts";
import { type Claim, refusing, type Verifier } from "../decode/verify.ts";
import { type CertifiedSummary, readCertified } from "./certificate.ts";
import {
  decodeCommitted,
  type ObjectReference,
  type ObjectSet,
  WrittenObjects,
} from "./object-set.ts";
import { CertificateError } from "./proof-errors.ts";

type Part = { readonly bcs: { readonly value: Uint8Array } };

type ExcerptTransaction = { transaction?: Part; effects?: Part; events?: Part };

type Excerpt = {
  readonly contents?: Part;
  readonly transactions?: readonly ExcerptTransaction[];
  readonly objects?: { readonly objects: readonly Part[] };
};

const partOf = (value: Uint8Array): Part => ({ bcs: { value } });

/** Inputs that a transaction changed are left out. */
const refuse = refusing(false);

/** A checkpoint with the means to make an excerpt of it. */
type Extractable = {
  readonly certified: CertifiedSummary;
  readonly checkpoint: Checkpoint;
  /** What its summary commits to; null before protocol 125. */
  readonly objects: ObjectSet | null;
  /** @throws CertificateError (retry) without signature */
  excerptOf(transactions: ReadonlySet<number>): Promise<Uint8Array>;
};

/**
 * Decodes a checkpoint once, checking every digest and what its summary commits to, for an excerpt
 * of transactions chosen after.
 * @throws CheckpointDecodeError (retry)
 */
export const readToExtract = (raw: RawCheckpoint, wanted: Wanted): Extractable => {
  const claims: Claim[] = [];
  const collecting: Verifier = {
    inputs: false,
    claim: (cursor, claim) => {
      refuse.claim(cursor, claim);
      claims.push(claim);
    },
  };
  const { certified, checkpoint, objects } = decodeCommitted(raw, collecting, wanted);
  return {
    certified,
    checkpoint,
    objects,
    excerptOf: (transactions) => {
      const cursor = new Cursor(raw.bytes, raw.sequence);
      const parts = collectParts();
      for (const claim of claims) {
        if (claim.transaction === null || transactions.has(claim.transaction)) {
          parts.add(cursor, claim);
        }
      }
      return encode(certified, parts.excerpt(checkpoint.transactions.length));
    },
  };
};

const collectParts = () => {
  const parts = new Map<number, ExcerptTransaction>();
  const objects: Part[] = [];
  let contents = partOf(new Uint8Array());
  return {
    add: (cursor: Cursor, { of, transaction: index, start, end }: Claim): void => {
      const part = partOf(cursor.copy(start, end));
      if (index === null) {
        contents = part;
        return;
      }
      const known = parts.get(index) ?? {};
      parts.set(index, known);
      if (of === "TransactionData") known.transaction = part;
      else if (of === "TransactionEffects") known.effects = part;
      else if (of === "TransactionEvents") known.events = part;
      else objects.push(part);
    },
    excerpt: (count: number): Excerpt => ({
      contents,
      transactions: Array.from({ length: count }, (_, index) => parts.get(index) ?? {}),
      objects: { objects },
    }),
  };
};

/**
 * Creates an excerpt without transactions.
 * @throws CertificateError (retry) without signature
 */
export const summaryExcerpt = (certified: CertifiedSummary): Promise<Uint8Array> =>
  encode(certified, {});

const encode = async (
  { header: { sequence }, summary, certificate }: CertifiedSummary,
  excerpt: Excerpt,
): Promise<Uint8Array> => {
  if (certificate === null) {
    throw new CertificateError(sequence, "the source gave it without the validators' signature");
  }
  const { GrpcTypes } = await import("@mysten/sui/grpc");
  const { epoch, signature, signers } = certificate;
  const { transactions = [], objects, contents } = excerpt;
  return GrpcTypes.Checkpoint.toBinary(
    GrpcTypes.Checkpoint.create({
      sequenceNumber: sequence,
      summary: partOf(summary),
      signature: { epoch, signature, bitmap: signers },
      ...(contents && { contents }),
      transactions: [...transactions],
      ...(objects && { objects: { objects: [...objects.objects] } }),
    }),
  );
};

/** What an excerpt proves if its signature is valid. */
type ReadExcerpt = {
  readonly certified: CertifiedSummary;
  /** Omitted transactions are empty. */
  readonly checkpoint: Checkpoint;
  /** Input versions by transaction index and object id; created objects have none. */
  readonly versionsBefore: ReadonlyMap<number, ReadonlyMap<string, bigint>>;
  /** What its transactions wrote, by id, as the last of them left it. */
  readonly written: ReadonlyMap<string, ObjectReference>;
};

/** An excerpt may have no unread bytes. */
const assertWhole = (made: Uint8Array, bytes: Uint8Array, sequence: bigint): void => {
  if (Buffer.compare(made, bytes) === 0) return;
  throw new CheckpointDecodeError(
    sequence,
    Math.min(made.length, bytes.length),
    "an excerpt has nothing but what proves its transactions, in one form; this one has other bytes",
  );
};

/**
 * Reads an excerpt without transactions; does not verify the signature.
 * @throws CheckpointDecodeError (retry) also for unread bytes, CertificateError (retry)
 */
export const readSummaryExcerpt = async (
  sequence: bigint,
  bytes: Uint8Array,
): Promise<CertifiedSummary> => {
  const certified = readCertified({ sequence, encoding: "protobuf", bytes });
  assertWhole(await summaryExcerpt(certified), bytes, sequence);
  return certified;
};

/**
 * Reads an excerpt and checks its digests, not the signature.
 * @throws CheckpointDecodeError (retry) also for unread bytes, CertificateError (retry)
 */
export const readExcerpt = async (
  sequence: bigint,
  bytes: Uint8Array,
  wanted: Wanted,
): Promise<ReadExcerpt> => {
  const parts = collectParts();
  const versionsBefore = new Map<number, ReadonlyMap<string, bigint>>();
  const written = new WrittenObjects();
  const raw: RawCheckpoint = { sequence, encoding: "protobuf", bytes };
  const checkpoint = decodeExcerpt(raw, wanted, {
    inputs: false,
    claim: (cursor, claim) => {
      refuse.claim(cursor, claim);
      parts.add(cursor, claim);
      const { of, transaction, start, end } = claim;
      if (of !== "TransactionEffects" || transaction === null) return;
      const effects = cursor.part(() => "effects", start, end, readEffects);
      written.add(cursor, effects);
      const { inputs } = effects;
      const versions = inputs.map(
        ({ idAt, versionAt }) => [cursor.address(idAt), cursor.u64At(versionAt)] as const,
      );
      versionsBefore.set(transaction, new Map(versions));
    },
  });
  const certified = readCertified(raw);
  const made = await encode(certified, parts.excerpt(checkpoint.transactions.length));
  assertWhole(made, bytes, sequence);
  return { certified, checkpoint, versionsBefore, written: written.objects };
};
