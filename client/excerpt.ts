/**
 * Reads an excerpt: some transactions of a checkpoint, with every digest up to its summary. The
 * summary's signature is the caller's to verify.
 */
import {
  address,
  all,
  data,
  digest,
  fieldsOf,
  fixed,
  type Layout,
  many,
  maybe,
  nothing,
  Reader,
  refuse,
  structTag,
  typeTag,
  u8,
  u16,
  u32,
  u64,
  variants,
} from "./bcs.ts";
import { BASE58 } from "./forms.ts";
import { blake2b } from "./noble.mjs";
import type { Reference } from "./object-set.ts";
import type { ChainFact } from "./pack-chains.ts";
import { utf8 } from "./sum-tree.ts";

/** A member of a committee: a BLS key of 96 bytes, and its stake. */
export type Member = { readonly publicKey: Uint8Array; readonly stake: bigint };

/** A checkpoint's summary, with the validators' aggregated signature. */
export type SignedSummary = {
  readonly sequence: bigint;
  readonly epoch: bigint;
  /** Base58. */
  readonly digest: string;
  readonly timestampMs: bigint;
  /** BCS, which the signature covers. */
  readonly summary: Uint8Array;
  readonly signature: Uint8Array;
  readonly signedEpoch: bigint;
  readonly bitmap: Uint8Array;
  /** The next committee, if this ends an epoch. */
  readonly next: readonly Member[] | null;
  /** Commitment to the objects that the checkpoint wrote; null before protocol 125. */
  readonly objectSet: Uint8Array | null;
};

export type Excerpt = SignedSummary & {
  readonly facts: readonly ChainFact[];
  /** The token's objects that its transactions wrote, as the last of them left them live. */
  readonly left: Iterable<Reference>;
};

const DIGESTS: ReadonlyMap<string, Uint8Array> = new Map(
  [
    "CheckpointSummary",
    "CheckpointContents",
    "TransactionData",
    "TransactionEffects",
    "TransactionEvents",
    "Object",
  ].map((name) => [name, utf8(`${name}::`)]),
);

const digestOf = (name: string, bcs: Uint8Array): Uint8Array => {
  const hash = blake2b.create({ dkLen: 32 });
  hash.update(DIGESTS.get(name) ?? new Uint8Array());
  hash.update(bcs);
  return hash.digest();
};

const isSame = (one: Uint8Array, other: Uint8Array): boolean => {
  for (let at = 0; at < 32; at++) if (one[at] !== other[at]) return false;
  return true;
};

const assertDigest = (name: string, bcs: Uint8Array, expected: Uint8Array): void => {
  if (!isSame(digestOf(name, bcs), expected)) refuse(`has another ${name} than the digest names`);
};

const base58 = (bytes: Uint8Array): string => {
  let number = 0n;
  let text = "";
  for (let at = 0; at < 32; at += 8) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, 8);
    number = (number << 64n) | view.getBigUint64(0);
  }
  for (; number > 0n; number /= 58n) text = BASE58.charAt(Number(number % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros < 0 ? 32 : zeros) + text;
};

const wholly = <T>(bytes: Uint8Array, read: (reader: Reader) => T): T => {
  const reader = new Reader(bytes);
  const value = read(reader);
  return reader.at === reader.end ? value : refuse("has bytes behind the end of a part");
};

const commitments = many(variants(digest, digest));

/** The commitment to the objects written, among others. */
const objectSetIn = (reader: Reader): Uint8Array | null => {
  let found: Uint8Array | null = null;
  for (let left = reader.length(); left > 0; left--) {
    const kind = reader.uleb();
    if (kind > 1) refuse("has an unknown variant");
    const digest = reader.digest();
    if (kind === 1) found ??= digest;
  }
  return found;
};

const membersIn = (reader: Reader): readonly Member[] =>
  Array.from({ length: reader.length() }, () => ({
    publicKey: reader.data(),
    stake: reader.u64(),
  }));

const readSummary = (reader: Reader) => {
  const epoch = reader.u64();
  const sequence = reader.u64();
  reader.skip(8);
  const content = reader.digest();
  maybe(digest)(reader);
  reader.skip(4 * 8);
  const timestampMs = reader.u64();
  const objectSet = objectSetIn(reader);
  const next = reader.flag() ? membersIn(reader) : null;
  if (next !== null) all(u64, commitments)(reader);
  data(reader);
  return { epoch, sequence, content, timestampMs, next, objectSet };
};

type Listed = { readonly transaction: Uint8Array; readonly effects: Uint8Array };

/** Both versions; signatures are skipped. */
const readContents = (reader: Reader): readonly Listed[] => {
  const version = reader.uleb();
  const signatures = version === 0 ? nothing : many(all(data, maybe(u64)));
  const listed = Array.from({ length: reader.length() }, () => {
    const one = { transaction: reader.digest(), effects: reader.digest() };
    signatures(reader);
    return one;
  });
  if (version === 0) many(many(data))(reader);
  return version > 1 ? refuse("has contents of an unknown version") : listed;
};

const location = all(address, data, u16, u16, maybe(data));
const two = all(u64, u64);
const none = (count: number): readonly Layout[] => Array.from({ length: count }, () => nothing);
const argumentError = variants(...none(4), u16, all(u16, u16), u16, ...none(13));
const upgradeError = variants(address, address, nothing, data, u8, all(address, address));
const reason = variants(
  ...[...none(4), two, two, address, ...none(4), maybe(location), all(location, u64), ...none(6)],
  ...[all(u16, argumentError), all(u16, variants(...none(2))), all(u16, u16), u16, nothing, two],
  ...[...none(2), upgradeError, two, ...none(4), many(address), all(address, data), data, nothing],
  ...[two, two, ...none(2), address],
);
const status = variants(nothing, all(reason, maybe(u64)));
const party = all(u64, u64, many(fixed(40)));
const owner = variants(address, address, u64, nothing, all(u64, address), party);
const reference = all(address, u64, digest);
const accumulated = all(
  address,
  (reader) => void typeTag(reader),
  variants(nothing, nothing),
  variants(u64, two, many(all(u64, digest))),
);
const unchanged = many(all(address, variants(all(u64, digest), u64, u64, u64, nothing)));

type Change = {
  readonly id: string;
  /** Null: it was not there. */
  readonly before: bigint | null;
  /** Null: removed. */
  readonly version: bigint | null;
  /** Of what the excerpt has: after the change, or before a removal. */
  readonly digest: Uint8Array | null;
};

type Effects = {
  readonly transaction: Uint8Array;
  readonly events: Uint8Array | null;
  /** In the order of an excerpt's objects. */
  readonly changes: readonly Change[];
};

const readEffects = (reader: Reader): Effects => {
  const version = reader.uleb();
  if (version > 1) return refuse("has effects of an unknown version");
  status(reader);
  reader.skip(8 + 4 * 8);
  return version === 0 ? readEffects1(reader) : readEffects2(reader);
};

const readEffects2 = (reader: Reader): Effects => {
  const transaction = reader.digest();
  maybe(u32)(reader);
  const events = reader.flag() ? reader.digest() : null;
  many(digest)(reader);
  const written = reader.u64();
  const mutated: Change[] = [];
  const created: Change[] = [];
  const unwrapped: Change[] = [];
  const removed: Change[] = [];
  for (let left = reader.length(); left > 0; left--) {
    const id = reader.address();
    const was = reader.uleb();
    if (was > 1) refuse("has an unknown variant");
    const before = was === 0 ? null : reader.u64();
    const digestBefore = was === 0 ? null : reader.digest();
    if (was === 1) owner(reader);
    const out = reader.uleb();
    if (out > 3) refuse("has an unknown variant");
    if (out === 3) accumulated(reader);
    const version = out === 1 ? written : out === 2 ? reader.u64() : null;
    const after = version === null ? null : reader.digest();
    if (out === 1) owner(reader);
    const operation = reader.uleb();
    if (version === null) {
      if (before !== null) removed.push({ id, before, version, digest: digestBefore });
      continue;
    }
    const group = before !== null ? mutated : operation === 1 ? created : unwrapped;
    group.push({ id, before, version, digest: after });
  }
  all(unchanged, maybe(digest))(reader);
  return { transaction, events, changes: [...mutated, ...created, ...unwrapped, ...removed] };
};

const readEffects1 = (reader: Reader): Effects => {
  const before = new Map<string, bigint>();
  for (let left = reader.length(); left > 0; left--) before.set(reader.address(), reader.u64());
  many(reference)(reader);
  const transaction = reader.digest();
  const owned = () =>
    Array.from({ length: reader.length() }, (): Change => {
      const one = { id: reader.address(), version: reader.u64(), digest: reader.digest() };
      owner(reader);
      return { ...one, before: before.get(one.id) ?? null };
    });
  const [created, mutated, unwrapped] = [owned(), owned(), owned()];
  const gone = new Set<string>();
  const removals = () => {
    for (let left = reader.length(); left > 0; left--) {
      gone.add(reader.address());
      all(u64, digest)(reader);
    }
  };
  removals();
  many(reference)(reader);
  removals();
  all(reference, owner)(reader);
  const events = reader.flag() ? reader.digest() : null;
  many(digest)(reader);
  const removed = [...before].flatMap(([id, version]): readonly Change[] =>
    gone.has(id) ? [{ id, before: version, version: null, digest: null }] : [],
  );
  return { transaction, events, changes: [...mutated, ...created, ...unwrapped, ...removed] };
};

/** A Move object; null for a package. */
const readObject = (reader: Reader) => {
  if (reader.uleb() === 1) return null;
  const kind = reader.uleb();
  // Framework types, written short: none of them is of a token.
  if (kind === 3 || kind === 5) typeTag(reader);
  const type = kind === 0 ? structTag(reader) : null;
  reader.flag();
  const version = reader.u64();
  const contents = reader.data();
  return contents.length < 32 ? refuse("has an object without an id") : { type, version, contents };
};

const eventTypes = (reader: Reader): readonly string[] =>
  Array.from({ length: reader.length() }, () => {
    all(address, data, address)(reader);
    const type = structTag(reader);
    data(reader);
    return type;
  });

const FRAMEWORK = `0x${"2".padStart(64, "0")}::`;
const METADATA = [`${FRAMEWORK}coin::CoinMetadata<`, `${FRAMEWORK}coin_registry::Currency<`];

/** `module::Name` of a type that has facts, and its first parameter; null for other types. */
export const wantedOf = (packages: readonly string[]) => {
  const own = new Set(packages);
  return (type: string): { readonly name: string; readonly coinType: string } | null => {
    const isOwn = own.has(type.slice(0, 66)) || METADATA.some((head) => type.startsWith(head));
    const open = type.indexOf("<");
    if (!isOwn || open < 0) return null;
    return { name: type.slice(68, open), coinType: firstOf(type.slice(open + 1, -1)) };
  };
};

const firstOf = (parameters: string): string => {
  let depth = 0;
  for (let at = 0; at < parameters.length; at++) {
    const sign = parameters[at];
    if (sign === "<") depth += 1;
    else if (sign === ">") depth -= 1;
    else if (sign === "," && depth === 0) return parameters.slice(0, at);
  }
  return parameters;
};

/** `value` of `bcs` of a part. */
const bcsIn = (part: Reader): Uint8Array => {
  for (const { field, inner } of fieldsOf(part)) {
    if (field !== 1) continue;
    for (const value of fieldsOf(inner)) {
      if (value.field === 2) return value.inner.taken(value.inner.end - value.inner.at);
    }
  }
  return new Uint8Array();
};

type Parts = {
  summary: Uint8Array;
  contents: Uint8Array | null;
  signature: Uint8Array;
  signedEpoch: bigint;
  bitmap: Uint8Array;
  readonly transactions: Map<number, Uint8Array>[];
  readonly objects: Uint8Array[];
};

const partsOf = (bytes: Uint8Array): Parts => {
  const empty = new Uint8Array();
  const parts: Parts = {
    ...{ summary: empty, contents: null, signature: empty, signedEpoch: 0n, bitmap: empty },
    ...{ transactions: [], objects: [] },
  };
  for (const { field, inner } of fieldsOf(new Reader(bytes))) {
    if (field === 3) parts.summary = bcsIn(inner);
    else if (field === 5) parts.contents = bcsIn(inner);
    else if (field === 6) {
      const own = new Map<number, Uint8Array>();
      for (const part of fieldsOf(inner)) {
        if (![2, 4, 5].includes(part.field)) refuse(`has field ${part.field} in a transaction`);
        own.set(part.field, bcsIn(part.inner));
      }
      parts.transactions.push(own);
    } else if (field === 7) {
      for (const object of fieldsOf(inner)) {
        if (object.field !== 1) refuse(`has field ${object.field} beside its objects`);
        parts.objects.push(bcsIn(object.inner));
      }
    } else if (field === 4) {
      for (const part of fieldsOf(inner)) {
        const value = () => part.inner.taken(part.inner.end - part.inner.at);
        if (part.field === 1) parts.signedEpoch = BigInt(part.number);
        else if (part.field === 2) parts.signature = value();
        else if (part.field === 3) parts.bitmap = value();
        else refuse(`has field ${part.field} in its signature`);
      }
    } else if (field !== 1) refuse(`has an unknown field, ${field}`);
  }
  return parts;
};

const signedSummary = (sequence: bigint, parts: Parts) => {
  const { summary, signature, signedEpoch, bitmap } = parts;
  const read = wholly(summary, readSummary);
  if (read.sequence !== sequence) refuse(`is of checkpoint ${read.sequence}`);
  const { epoch, timestampMs, next, objectSet, content } = read;
  const digest = base58(digestOf("CheckpointSummary", summary));
  const signed = { sequence, epoch, digest, timestampMs, summary, signature, signedEpoch, bitmap };
  return { content, signed: { ...signed, next, objectSet } };
};

/** The summary alone. @throws ExcerptError */
export const summaryIn = (sequence: bigint, bytes: Uint8Array): SignedSummary =>
  signedSummary(sequence, partsOf(bytes)).signed;

/**
 * The facts of one token, with every digest checked.
 * @param wanted from `wantedOf`
 * @throws ExcerptError
 */
export const excerptIn = (
  sequence: bigint,
  bytes: Uint8Array,
  coinType: string,
  wanted: ReturnType<typeof wantedOf>,
): Excerpt => {
  const parts = partsOf(bytes);
  const { content, signed } = signedSummary(sequence, parts);
  const { contents, transactions, objects } = parts;
  if (contents === null) return refuse("has no contents");
  assertDigest("CheckpointContents", contents, content);
  const listed = wholly(contents, readContents);
  if (listed.length !== transactions.length) refuse("has other transactions than its contents");
  let next = 0;
  const left = new Map<string, Reference>();
  const facts = transactions.flatMap((own, transaction): readonly ChainFact[] => {
    const names = listed[transaction];
    if (own.size === 0 || names === undefined) return [];
    const [data, effects, events] = [2, 4, 5].map((field) => own.get(field));
    if (data === undefined || effects === undefined) {
      return refuse("has a transaction without data or effects");
    }
    assertDigest("TransactionData", data, names.transaction);
    assertDigest("TransactionEffects", effects, names.effects);
    const read = wholly(effects, readEffects);
    if (!isSame(read.transaction, names.transaction)) refuse("has effects of another transaction");
    if ((read.events === null) !== (events === undefined))
      refuse("has other events than its effects");
    if (read.events !== null) assertDigest("TransactionEvents", events ?? effects, read.events);
    const found: ChainFact[] = [];
    const add = (type: string, rest: (name: string) => ChainFact) => {
      const own = wanted(type);
      if (own?.coinType === coinType) found.push(rest(own.name));
    };
    const common = { transaction, txDigest: base58(names.transaction) };
    for (const type of events === undefined ? [] : wholly(events, eventTypes)) {
      add(type, (name) => ({ kind: "event", name, ...common }));
    }
    for (const { id, before, version, digest } of read.changes) {
      const bcs = objects[next];
      next += 1;
      if (bcs === undefined) return refuse(`has no object ${id}`);
      if (digest !== null) assertDigest("Object", bcs, digest);
      const object = readObject(new Reader(bcs));
      if (object === null) continue;
      if (new Reader(object.contents).address() !== id || object.version !== (version ?? before)) {
        refuse(`has another object than ${id}`);
      }
      const { type, contents } = object;
      if (type === null) continue;
      add(type, (name) => {
        left.delete(id);
        if (version === null || digest === null) {
          return { kind: "removal", name, ...common, objectId: id, version: before ?? 0n };
        }
        // A copy, as the excerpt need not stay in memory.
        left.set(id, { objectId: id, version, digest: digest.slice() });
        const versions = { version, versionBefore: before };
        return { kind: "object", name, ...common, objectId: id, ...versions, contents };
      });
    }
    return found;
  });
  if (next !== objects.length) refuse("has an object that no transaction wrote");
  return { ...signed, facts, left: left.values() };
};
