import { decodeCheckpoint } from "../../../src/ledger/decode/decode.ts";
import type { ObjectHead } from "../../../src/ledger/history/ledger-index.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { HONEST, type Lies } from "./lies.ts";
import type { ListedLedger } from "./listed-ledger.ts";

/** An object in one of its versions. */
export type Versioned = { readonly objectId: string; readonly version: bigint };

/** A transaction to hide, and servers that do. */
export type Hidden = {
  readonly checkpoint: bigint;
  /** Objects that its checkpoint changed. */
  readonly objects: ReadonlySet<string>;
  /** Whether it deletes all of them. */
  readonly removesAll: boolean;
  /** Whether the transaction changed the object, and its checkpoint gave the version or took it. */
  readonly changed: (one: Versioned) => boolean;
  /** Whether a transaction of its checkpoint did, which is hidden with it. */
  readonly changedBeside: (one: Versioned) => boolean;
  /** Left out of the lists, with the others of its checkpoint, which would lead to it. */
  readonly lists: Lies;
  /** Nothing of its checkpoint is listed or known by digest, and it is not served. */
  readonly everywhere: Lies;
  /** Also without its versions: objects that changed last there are served as they were before. */
  readonly stale: Lies;
};

/** @param facts all of the ledger, in chain order */
export const hiding = (
  ledger: ListedLedger,
  digest: string,
  facts: readonly ReadFact[],
): Hidden => {
  const { checkpoint = -1n } = ledger.placeOf(digest) ?? {};
  const inside = facts.filter((fact) => fact.checkpoint === checkpoint);
  const digests = new Set([digest, ...inside.map(({ txDigest }) => txDigest)]);
  const objects = new Set(inside.flatMap((fact) => (fact.kind === "event" ? [] : [fact.objectId])));
  const heads = new Map<string, ObjectHead | undefined>();
  for (const fact of facts) {
    if (fact.kind === "event" || !objects.has(fact.objectId)) continue;
    if (fact.checkpoint === checkpoint) {
      if (!heads.has(fact.objectId)) heads.set(fact.objectId, undefined);
    } else if (fact.checkpoint > checkpoint) heads.delete(fact.objectId);
    else if (fact.kind === "removal") heads.set(fact.objectId, undefined);
    else {
      const { version, txDigest: previousTransaction } = fact;
      heads.set(fact.objectId, { version, digest: previousTransaction, previousTransaction });
    }
  }
  const lists = { ...HONEST, unlisted: digests };
  const { versions, own, all } = versionsIn(ledger, checkpoint, digest);
  const everywhere = { ...HONEST, unlisted: all, unknown: all, withheld: new Set([checkpoint]) };
  const removesAll = inside.every(({ kind }) => kind === "removal");
  const changedBeside = ({ objectId, version }: Versioned) =>
    versions.get(objectId)?.has(version) === true;
  return {
    ...{ checkpoint, objects, removesAll, changedBeside, lists, everywhere },
    changed: (one) => own.has(one.objectId) && changedBeside(one),
    stale: { ...everywhere, heads },
  };
};

/** Versions that a checkpoint's transactions took and gave, from their effects; objects of one; the digests of all. */
const versionsIn = (ledger: ListedLedger, sequence: bigint, digest: string) => {
  const versions = new Map<string, Set<bigint>>();
  const own = new Set<string>();
  const bytes = ledger.checkpoint(sequence);
  const { transactions } = decodeCheckpoint({ sequence, encoding: "protobuf", bytes });
  for (const transaction of transactions) {
    const note = (id: string, version: bigint) => {
      versions.set(id, (versions.get(id) ?? new Set<bigint>()).add(version));
      if (transaction.digest === digest) own.add(id);
    };
    for (const { id, version, versionBefore } of transaction.outputObjects) {
      note(id, version);
      if (versionBefore !== null) note(id, versionBefore);
    }
    for (const { id, version } of transaction.removedObjects) note(id, version);
    for (const { id, version } of transaction.packages) note(id, version);
  }
  return { versions, own, all: new Set(transactions.map((transaction) => transaction.digest)) };
};
