import type { Fact } from "./fact.ts";

/** What a fact takes beside its texts and contents: the object itself, its numbers, its links. */
const OVERHEAD_BYTES = 200;

/** An aggregate over rows of `log_facts`: `factBytes` of all of a group. */
export const SQL_FACT_BYTES = `
  sum(${OVERHEAD_BYTES} + length(type) + length(name) + coalesce(length(coin_type), 0) + length(tx_digest)
      + length(sender) + coalesce(length(object_id), 0) + coalesce(octet_length(contents), 0))::int8`;

/**
 * Roughly what a fact takes in memory, in bytes: what batches and queues are bounded by. Texts are
 * ASCII, one byte a character.
 */
export const factBytes = (fact: Fact): number =>
  OVERHEAD_BYTES +
  fact.type.length +
  fact.name.length +
  (fact.coinType?.length ?? 0) +
  fact.txDigest.length +
  fact.sender.length +
  (fact.kind === "event" ? 0 : fact.objectId.length) +
  (fact.kind === "removal" ? 0 : fact.contents.length);
