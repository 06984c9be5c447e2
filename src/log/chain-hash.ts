/**
 * Hashes of the log's chains, reproducible by anyone (docs/reference/formats.md):
 *
 * fact = columns in the order of `FACT_COLUMNS`, each as text (`contents` as is) after its length
 * in bytes, u32 big-endian; ff ff ff ff for null
 *
 * facts = SHA-256 over a checkpoint's facts, ordered by transaction, kind and index
 *
 * hash = SHA-256(previous hash, or 32 zero bytes; checkpoint and time in ms, u64 big-endian each;
 * digest, base58 as ASCII; facts)
 *
 * A coin type's chain covers only the facts of that type. Appends hash here; Postgres hashes stored
 * rows the same way, to check them and to complete older logs.
 */
import { createHash } from "node:crypto";
import { type CheckpointMark, type Fact, isIndexable } from "./fact.ts";

/** Hash before the first link. */
export const START: Uint8Array = Buffer.alloc(32);

const FACT_COLUMNS = [
  "checkpoint",
  "transaction",
  "kind",
  "index",
  "timestamp_ms",
  "type",
  "name",
  "coin_type",
  "tx_digest",
  "sender",
  "object_id",
  "version",
  "contents",
] as const;

/** A column's bytes as hashed. */
export const sqlField = (column: string): string => {
  const bytes = column === "contents" ? column : `convert_to("${column}"::text, 'UTF8')`;
  return `coalesce(int4send(octet_length(${bytes})) || ${bytes}, '\\xffffffff')`;
};

/** SQL aggregate over rows of `log_facts`. */
export const SQL_FACTS_HASH = `
  sha256(string_agg(${FACT_COLUMNS.map(sqlField).join(" || ")}, ''::bytea
                    order by transaction, kind, index))`;

/** SQL form of `isChainedCoin`. */
export const SQL_CHAINED_COIN = "coin_type is not null and length(coin_type) <= 1024";

/** Whether a coin type has a chain; too long a type has none. */
export const isChainedCoin = (coinType: string | null): coinType is string =>
  coinType !== null && isIndexable(coinType);

/** Hash of a checkpoint after `before`. */
export const linkOf = (
  before: Uint8Array,
  { sequence, timestampMs, digest }: CheckpointMark,
  facts: Uint8Array,
): Buffer => {
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(sequence, 0);
  numbers.writeBigUInt64BE(timestampMs, 8);
  return createHash("sha256").update(before).update(numbers).update(digest).update(facts).digest();
};

type Hashed = { readonly facts: number; readonly hash: Buffer };

/** Hash over a checkpoint's facts, and per coin type. */
type HashedCheckpoint = {
  readonly all: Hashed;
  readonly coins: ReadonlyMap<string, Hashed>;
};

/** @param facts of one checkpoint */
export const hashFacts = (facts: readonly Fact[]): HashedCheckpoint => {
  const writer = createWriter();
  const ends = new Map<string, { facts: number; readonly places: [number, number][] }>();
  for (const fact of inOrder(facts)) {
    const begin = writer.length();
    writeFact(writer, fact);
    const { coinType } = fact;
    if (!isChainedCoin(coinType)) continue;
    const end = writer.length();
    const known = ends.get(coinType);
    const before = known?.places.at(-1);
    if (known === undefined) ends.set(coinType, { facts: 1, places: [[begin, end]] });
    else {
      known.facts += 1;
      // Facts of a coin are mostly adjacent: one call hashes them.
      if (before?.[1] === begin) before[1] = end;
      else known.places.push([begin, end]);
    }
  }
  const bytes = writer.bytes();
  const all = { facts: facts.length, hash: createHash("sha256").update(bytes).digest() };
  const coins = new Map<string, Hashed>();
  for (const [coinType, own] of ends) {
    coins.set(coinType, own.facts === facts.length ? all : hashPlaces(bytes, own));
  }
  return { all, coins };
};

type Places = {
  readonly facts: number;
  readonly places: readonly (readonly [number, number])[];
};

const hashPlaces = (bytes: Buffer, { facts, places }: Places): Hashed => {
  const hash = createHash("sha256");
  for (const [begin, end] of places) hash.update(bytes.subarray(begin, end));
  return { facts, hash: hash.digest() };
};

const kindOf = (fact: Fact): number => (fact.kind === "event" ? 0 : 1);

const compare = (a: Fact, b: Fact): number =>
  a.transaction - b.transaction || kindOf(a) - kindOf(b) || a.index - b.index;

/** Nearly always sorted already. */
export const inOrder = <Of extends Fact>(facts: readonly Of[]): readonly Of[] => {
  const isSorted = facts.every((fact, n) => {
    const before = facts[n - 1];
    return before === undefined || compare(before, fact) < 0;
  });
  return isSorted ? facts : facts.toSorted(compare);
};

const writeFact = (writer: ReturnType<typeof createWriter>, fact: Fact): void => {
  const object = fact.kind === "event" ? undefined : fact;
  writer.text(fact.checkpoint.toString());
  writer.text(`${fact.transaction}`);
  writer.text(`${kindOf(fact)}`);
  writer.text(`${fact.index}`);
  writer.text(fact.timestampMs.toString());
  writer.text(fact.type);
  writer.text(fact.name);
  writer.text(fact.coinType);
  writer.text(fact.txDigest);
  writer.text(fact.sender);
  writer.text(object?.objectId ?? null);
  writer.text(object?.version.toString() ?? null);
  writer.field(fact.kind === "removal" ? null : fact.contents);
};

/** Enough for most checkpoints. */
const ROOM = 16 * 1024;

/** Reused between checkpoints; only synchronous code uses it. */
let room = Buffer.allocUnsafe(ROOM);

/** Writes fields, each after its length. Only one writer at a time. */
export const createWriter = () => {
  let buffer = room;
  let at = 0;
  const ensure = (bytes: number) => {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, at + bytes));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
    // Do not keep an exceptionally large buffer.
    if (larger.length <= 64 * ROOM) room = larger;
  };
  const absent = () => {
    ensure(4);
    at = buffer.writeInt32BE(-1, at);
  };
  const text = (value: string | null) => {
    if (value === null) return absent();
    // UTF-8 takes at most three bytes per UTF-16 unit.
    ensure(4 + value.length * 3);
    const written = buffer.write(value, at + 4);
    at = buffer.writeUInt32BE(written, at) + written;
  };
  return {
    length: () => at,
    bytes: () => buffer.subarray(0, at),
    text,
    field: (value: Uint8Array | null) => {
      if (value === null) return absent();
      ensure(4 + value.length);
      at = buffer.writeUInt32BE(value.length, at);
      buffer.set(value, at);
      at += value.length;
    },
  };
};
