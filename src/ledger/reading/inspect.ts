import { createHash } from "node:crypto";
import type {
  Checkpoint,
  Event,
  OutputObject,
  Owner,
  RawCheckpoint,
} from "../decode/checkpoint.ts";
import { decodeWith } from "../decode/decode.ts";
import type { DigestOf } from "../decode/digest.ts";
import { contradiction } from "../decode/verify.ts";

/**
 * A checkpoint as one line of canonical JSON: sorted keys, no spaces, u64 as decimal strings,
 * digests base58, contents as SHA-256 hex and length.
 */
export const canonicalJson = (checkpoint: Checkpoint): string =>
  JSON.stringify({
    content_digest: checkpoint.contentDigest,
    digest: checkpoint.digest,
    epoch: String(checkpoint.epoch),
    sequence_number: String(checkpoint.sequence),
    timestamp_ms: String(checkpoint.timestampMs),
    transactions: checkpoint.transactions.map((transaction) => ({
      digest: transaction.digest,
      events: transaction.events.map(eventJson),
      output_objects: transaction.outputObjects.map(objectJson),
      removed_objects: transaction.removedObjects.map(({ id, type, version }) => ({
        id,
        type,
        version: String(version),
      })),
      sender: transaction.sender,
    })),
  });

const eventJson = (event: Event) => ({
  ...contentsJson(event.contents),
  index: event.index,
  module: event.module,
  package_id: event.packageId,
  sender: event.sender,
  type: event.type,
});

const objectJson = (object: OutputObject) => ({
  ...contentsJson(object.contents),
  id: object.id,
  owner: ownerJson(object.owner),
  previous_transaction: object.previousTransaction,
  type: object.type,
  version: String(object.version),
});

const contentsJson = (contents: Uint8Array) => ({
  contents_length: contents.byteLength,
  contents_sha256: createHash("sha256").update(contents).digest("hex"),
});

const ownerJson = (owner: Owner) => {
  switch (owner.kind) {
    case "address":
    case "object":
      return { address: owner.address, kind: owner.kind };
    case "shared":
      return { initial_shared_version: String(owner.initialSharedVersion), kind: owner.kind };
    case "immutable":
      return { kind: owner.kind };
    case "consensus":
      return {
        address: owner.address,
        kind: owner.kind,
        start_version: String(owner.startVersion),
      };
    case "party":
      return {
        default_permissions: String(owner.defaultPermissions),
        kind: owner.kind,
        members: owner.members.map(({ address, permissions }) => ({
          address,
          permissions: String(permissions),
        })),
        start_version: String(owner.startVersion),
      };
  }
};

type DigestCount = { readonly checked: number; readonly wrong: number };

type WrongDigest = {
  readonly what: keyof DigestCounts;
  /** The part and its transaction. */
  readonly where: string;
  /** Base58: named by the checkpoint, computed from its bytes. */
  readonly expected: string;
  readonly found: string;
};

type DigestCounts = {
  readonly contents: DigestCount;
  readonly transactions: DigestCount;
  readonly effects: DigestCount;
  readonly events: DigestCount;
  /** Written objects, and inputs changed or removed (effects V2). */
  readonly objects: DigestCount;
};

/** Result of recomputing all digests. */
type DigestReport = DigestCounts & {
  readonly sequence: string;
  /** Computed digest of the summary, which only the validators' signature can contradict. */
  readonly checkpointSummary: string;
  readonly wrong: readonly WrongDigest[];
};

/**
 * Recomputes all digests and reports contradictions. Does not verify signatures.
 * @throws CheckpointDecodeError (retry) when the bytes are no checkpoint
 */
export const checkDigests = (raw: RawCheckpoint): DigestReport => {
  const counts = {
    contents: { checked: 0, wrong: 0 },
    transactions: { checked: 0, wrong: 0 },
    effects: { checked: 0, wrong: 0 },
    events: { checked: 0, wrong: 0 },
    objects: { checked: 0, wrong: 0 },
  };
  const wrong: WrongDigest[] = [];
  const { sequence, digest } = decodeWith(raw, {
    inputs: true,
    claim: (cursor, claim) => {
      const what = COUNTED_AS[claim.of];
      counts[what].checked++;
      const found = contradiction(cursor, claim);
      if (found === null) return;
      counts[what].wrong++;
      wrong.push({ what, ...found });
    },
  });
  return { sequence: String(sequence), checkpointSummary: digest, ...counts, wrong };
};

const COUNTED_AS: Readonly<Record<DigestOf, keyof DigestCounts>> = {
  CheckpointSummary: "contents",
  CheckpointContents: "contents",
  TransactionData: "transactions",
  TransactionEffects: "effects",
  TransactionEvents: "events",
  Object: "objects",
};
