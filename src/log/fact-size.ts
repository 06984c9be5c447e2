import type { Fact } from "./fact.ts";

/** A fact without its texts and contents. */
const OVERHEAD_BYTES = 200;

/** SQL form of `factBytes`, summed. */
export const SQL_FACT_BYTES = `
  sum(${OVERHEAD_BYTES} + length(type) + length(name) + coalesce(length(coin_type), 0) + length(tx_digest)
      + length(sender) + coalesce(length(object_id), 0) + coalesce(octet_length(contents), 0))::int8`;

/** Approximate memory of a fact in bytes, to bound batches and queues. Texts are ASCII. */
export const factBytes = (fact: Fact): number =>
  OVERHEAD_BYTES +
  fact.type.length +
  fact.name.length +
  (fact.coinType?.length ?? 0) +
  fact.txDigest.length +
  fact.sender.length +
  (fact.kind === "event" ? 0 : fact.objectId.length) +
  (fact.kind === "removal" ? 0 : fact.contents.length);
