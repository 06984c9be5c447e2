import type { ObjectHead } from "../../../src/ledger/history/ledger-index.ts";
import type { ReadFact } from "../../../src/log/fact.ts";
import { HONEST, type Lies } from "./lies.ts";
import type { ListedLedger } from "./listed-ledger.ts";

/** A transaction to hide, and servers that do. */
export type Hidden = {
  readonly checkpoint: bigint;
  /** Objects that its checkpoint changed. */
  readonly objects: ReadonlySet<string>;
  /** Whether it deletes all of them. */
  readonly removesAll: boolean;
  /** Left out of the lists, with the others of its checkpoint, which would lead to it. */
  readonly lists: Lies;
  /** Also unknown by digest, and its checkpoint is not served. */
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
  const everywhere = { ...lists, unknown: digests, withheld: new Set([checkpoint]) };
  const removesAll = inside.every(({ kind }) => kind === "removal");
  return { checkpoint, objects, removesAll, lists, everywhere, stale: { ...everywhere, heads } };
};
