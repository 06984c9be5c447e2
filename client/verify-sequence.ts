/**
 * Checks kept entries of a deployment's signed sequence: signatures, links, and contradictions
 * about a checkpoint.
 */
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import {
  amount,
  chainId,
  type Form,
  hash,
  isBase64,
  isFormed,
  isPlain,
  keyId,
  membersOf,
  moment,
  must,
  nullOr,
  oneOf,
  publicKey,
  shown,
  signature,
  type TypeOf,
  type,
} from "./forms.ts";
import {
  correctionFaults,
  correctsRoots,
  type RootCorrection,
  RootsSaid,
} from "./root-corrections.ts";
import { hexOf, isSignatureOf, utf8 } from "./sum-tree.ts";

const KINDS = ["root", "head", "coin", "blocks", "inputs", "key", "correction", "act"] as const;

const ENTRY = membersOf({
  /** From 0. */
  number: amount,
  /** SHA-256 of the previous entry, hex; 64 zeros for number 0. */
  previous: hash,
  kind: oneOf(...KINDS),
  /** Numbers are decimal texts. */
  body: must(
    (value): value is { readonly [name: string]: JsonValue } => isPlain(value),
    "an object",
  ),
  /** ISO 8601, UTC, with milliseconds. */
  at: moment,
  keyId,
  /** Base64 of 64 bytes. */
  signature,
});

/** As in `GET /sequence`. */
export type SequenceEntry = TypeOf<typeof ENTRY>;

export type VerifiedSequence = {
  /** Those that hold. */
  readonly entries: readonly SequenceEntry[];
  /**
   * They prove nothing: signed by other keys, where these are allowed; after the known key was
   * declared lost; or with a revoked key, from the entry at which it was revoked.
   */
  readonly notShown: readonly SequenceEntry[];
  /** How lost or revoked keys affect them; empty if they do not. */
  readonly why: readonly string[];
  /** Trusted keys, base64: the given one and those that entries of trusted keys name. */
  readonly keys: readonly string[];
  /** Revoked keys: what they signed from entry `from` on is not trusted, as `entry` says. */
  readonly revoked: readonly {
    readonly keyId: string;
    readonly from: string;
    readonly entry: string;
  }[];
  /** Published roots that entries which hold correct: show them with anything that rests on roots. */
  readonly corrections: readonly RootCorrection[];
  /** Starts at number 0, without gaps. */
  readonly whole: boolean;
  readonly last: { readonly number: string; readonly hash: string };
  /** The last trusted key, base64; differs from the given one after a key change. */
  readonly publicKey: string;
};

/** Entries that do not hold. Stop. The message names the entry, and is fit for a terminal. */
export class SequenceError extends Error {
  override readonly name = "SequenceError";
  readonly remedy = "stop";
}

type KnownToKeeper = {
  /** The key that signed the first entry, base64, as the caller knows it. */
  readonly publicKey: string;
  /**
   * How to treat entries signed neither by this key nor by a successor named here. Passed over, the
   * key may be any of the deployment's; an earlier key's entry holds if gapless hashes lead back to
   * it. An entry that falsely claims a known key is always refused.
   */
  readonly otherKeys?: "refused" | "passed over" | undefined;
  /** Verifies a signature (base64 except the text); the portable default is slow. */
  readonly isSigned?: ((signature: string, text: string, publicKey: string) => boolean) | undefined;
};

const NOTHING = "0".repeat(64);

type SignedMembers = Pick<SequenceEntry, "number" | "previous" | "kind" | "body" | "at">;

const signedMembers = ({ number, previous, kind, body, at }: SignedMembers): SignedMembers => ({
  number,
  previous,
  kind,
  body,
  at,
});

const sha256 = async (text: string) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));

/** SHA-256 of an entry, hex: `previous` of the next. */
export const entryHash = (entry: SignedMembers): Promise<string> =>
  sha256(canonicalJson(signedMembers(entry)));

const keyIdOf = async (publicKey: string) => `dep_${(await sha256(publicKey)).slice(0, 16)}`;

/**
 * Checks kept entries in ascending order. Gaps are allowed; hashes are checked between neighbours.
 * `holderbook verify --log --head FILE` checks that the deployment still has them.
 * @param kept JSON texts, one a line, or parsed entries
 * @throws SequenceError (stop)
 */
export const verifySequence = async (
  kept: string | Iterable<unknown>,
  known: KnownToKeeper,
): Promise<VerifiedSequence> => {
  const { publicKey, otherKeys = "refused", isSigned = isSignatureOf } = known;
  if (!isBase64(32)(publicKey)) throw new SequenceError("the key is not base64 of 32 bytes");
  const all = (typeof kept === "string" ? linesOf(kept) : [...kept]).map(checked);
  const passOver = otherKeys === "passed over";
  const signed = await signedBy(all, publicKey, { isSigned, passOver });
  const revoked = revocations(linked(signed.entries).entries);
  const { entries: judged, keys } = believed(signed.entries, signed.given, revoked);
  const { entries, notShown } = linked(judged);
  const corrections = agreeing(entries);
  return {
    entries,
    notShown,
    corrections,
    why: notShown.length === 0 ? [] : reasons(signed, revoked),
    keys: [...keys],
    revoked: [...revoked].map(([keyId, { from, entry }]) => ({ keyId, from, entry })),
    whole:
      all[0]?.number === "0" &&
      notShown.length === 0 &&
      signed.entries.every(({ follows }, at) => follows || at === 0),
    last: signed.last,
    publicKey: [...keys].at(-1) ?? publicKey,
  };
};

/** A text of a validated body; empty if absent. */
const textIn = (body: SequenceEntry["body"], name: string): string => {
  const value = body[name];
  return typeof value === "string" ? value : "";
};

type Key = { readonly publicKey: string; readonly keyId: string };

/** Names a new key because the previous one was lost. */
type Loss = { readonly number: string; readonly lost: string; readonly keyId: string };

type Signed = {
  readonly entry: SequenceEntry;
  /** Undefined if the entries lead to no key. */
  readonly by: Key | undefined;
  /** Whether the previous entry is included. */
  readonly follows: boolean;
};

/** By key id: not trusted from entry `from` on, as `entry` says. */
type Revocations = ReadonlyMap<string, { readonly from: string; readonly entry: string }>;

/** Finds each entry's signer, and whether it follows its predecessor. */
const signedBy = async (
  all: readonly SequenceEntry[],
  publicKey: string,
  { isSigned, passOver }: { readonly isSigned: typeof isSignatureOf; readonly passOver: boolean },
) => {
  const keyOf = async (text: string): Promise<Key> => ({
    publicKey: text,
    keyId: await keyIdOf(text),
  });
  const given = await keyOf(publicKey);
  // Each key was named by an entry of the previous; the last one signs.
  const keys = [given];
  const entries: Signed[] = [];
  let lost: Loss | undefined;
  let before: { readonly number: string; readonly hash: string } | undefined;
  for (const entry of all) {
    const { number, previous, kind, body } = entry;
    if (before !== undefined && BigInt(number) <= BigInt(before.number)) {
      failed(entry, `comes behind entry ${before.number}: each must come once, the lowest first`);
    }
    const follows = before !== undefined && BigInt(number) === BigInt(before.number) + 1n;
    if (follows && previous !== before?.hash) {
      failed(entry, "does not have the hash of the one before");
    }
    if (number === "0" && previous !== NOTHING) failed(entry, "is the first and names one before");
    const text = canonicalJson({ purpose: "holderbook-sequence-v1", ...signedMembers(entry) });
    const isOf = (key: string) => isSigned(entry.signature, text, key);
    const signs = lost === undefined ? keys.at(-1) : undefined;
    const by = signs !== undefined && isOf(signs.publicKey) ? signs : undefined;
    const isLoss = kind === "key" && body.lost !== undefined;
    if (isLoss && !isOf(textIn(body, "publicKey"))) {
      failed(entry, "names a key in a lost one's place, which did not sign it");
    }
    // Anyone with write access to the database can make such an entry.
    if (isLoss && by === undefined && body.lost === signs?.keyId) {
      lost = { number, lost: textIn(body, "lost"), keyId: textIn(body, "keyId") };
    } else if (by === undefined) refuseForged(entry, { keys, signs, lost, isOf, passOver });
    if (by !== undefined && number === "0" && (kind !== "key" || body.publicKey !== by.publicKey)) {
      failed(entry, "does not name the key that signed it");
    }
    if (by !== undefined && kind === "key" && body.publicKey !== by.publicKey) {
      keys.push(await keyOf(textIn(body, "publicKey")));
    }
    if (isRevocation(entry) && [by?.keyId, entry.keyId].includes(textIn(body, "keyId"))) {
      failed(entry, "revokes the key that signed it");
    }
    entries.push({ entry, by, follows });
    before = { number, hash: await entryHash(entry) };
  }
  if (before === undefined) throw new SequenceError("there are no entries");
  return { entries, given, last: before, lost };
};

/**
 * Refuses an entry of another key, unless other keys are passed over; one that falsely claims a known
 * key is always refused.
 */
const refuseForged = (
  entry: SequenceEntry,
  {
    keys,
    signs,
    lost,
    isOf,
    passOver,
  }: {
    readonly keys: readonly Key[];
    readonly signs: Key | undefined;
    readonly lost: Loss | undefined;
    readonly isOf: (publicKey: string) => boolean;
    readonly passOver: boolean;
  },
) => {
  const former = keys.find((each) => each !== signs && isOf(each.publicKey));
  if (former !== undefined) {
    failed(
      entry,
      `is signed with the key ${former.publicKey}, in whose place an entry before it puts another`,
    );
  }
  const isPassedOver = passOver || lost !== undefined;
  if (!isPassedOver || keys.some(({ keyId }) => keyId === entry.keyId)) {
    failed(entry, `is not signed with the key ${keys.at(-1)?.publicKey}`);
  }
};

/** Each key is revoked from the lowest entry named. */
const revocations = (entries: readonly SequenceEntry[]): Revocations => {
  const revoked = new Map<string, { readonly from: string; readonly entry: string }>();
  for (const entry of entries.filter(isRevocation)) {
    const keyId = textIn(entry.body, "keyId");
    const from = textIn(entry.body, "from");
    if (BigInt(from) > BigInt(entry.number)) failed(entry, "revokes a key from a later entry on");
    const known = revoked.get(keyId);
    if (known === undefined || BigInt(from) < BigInt(known.from)) {
      revoked.set(keyId, { from, entry: entry.number });
    }
  }
  return revoked;
};

/** Drops what revoked keys signed from the named entry on, and keys that only such entries name. */
const believed = (signed: readonly Signed[], given: Key, revoked: Revocations) => {
  const keys = new Set([given.publicKey]);
  const entries = signed.map(({ entry, by, follows }): Signed => {
    const from = revoked.get(by?.keyId ?? "")?.from;
    const isKnown =
      by !== undefined &&
      keys.has(by.publicKey) &&
      (from === undefined || BigInt(entry.number) < BigInt(from));
    if (isKnown && entry.kind === "key") keys.add(textIn(entry.body, "publicKey"));
    return { entry, by: isKnown ? by : undefined, follows };
  });
  return { entries, keys };
};

/** Entries of trusted keys, and those that their hashes lead back to. */
const linked = (signed: readonly Signed[]) => {
  const entries: SequenceEntry[] = [];
  const notShown: SequenceEntry[] = [];
  let isNamed = false;
  for (const { entry, by, follows } of signed.toReversed()) {
    const isShown: boolean = by !== undefined || isNamed;
    (isShown ? entries : notShown).push(entry);
    isNamed = isShown && follows;
  }
  return { entries: entries.reverse(), notShown: notShown.reverse() };
};

const reasons = ({ lost }: { readonly lost: Loss | undefined }, revoked: Revocations) => [
  ...(lost === undefined
    ? []
    : [
        `entry ${lost.number} says that the key ${lost.lost} was lost, and names ${lost.keyId} by itself, which anyone with write access to the database could do: give that key once you know from elsewhere that it is the deployment's`,
      ]),
  ...[...revoked].map(
    ([keyId, { from, entry }]) =>
      `entry ${entry} revokes ${keyId}: what it signed in entry ${from} and behind, the keys named there included, is not believed by its signature. Give the newest key, and all entries from there to one that it signed`,
  ),
];

type Statements = Map<
  string,
  { readonly number: string; readonly kind: string; readonly text: string }
>;

/** Refuses an entry dated before, or contradicting, an earlier one. */
const agreeing = (entries: readonly SequenceEntry[]): readonly RootCorrection[] => {
  const known: Statements = new Map();
  const roots = new RootsSaid();
  let before: SequenceEntry | undefined;
  for (const entry of entries) {
    if (before !== undefined && entry.at < before.at) {
      failed(entry, `is dated ${entry.at}, before entry ${before.number} (${before.at})`);
    }
    const wrong = roots.add(entry);
    if (wrong !== null) failed(entry, wrong);
    compare(known, entry);
    before = entry;
  }
  return roots.corrections();
};

/** A correction changes the log, unless it is of a key or of roots: of earlier entries, only acts still bind. */
const compare = (known: Statements, entry: SequenceEntry) => {
  const { number, kind, body } = entry;
  if (kind === "correction" && body.of !== "key" && body.of !== "root") {
    for (const [of, before] of known) {
      if (before.kind !== "act") known.delete(of);
    }
  }
  if (!["head", "coin", "act"].includes(kind)) return;
  const about = kind === "act" ? `act ${body.act}` : `checkpoint ${body.checkpoint}`;
  const of = canonicalJson([kind, body.coinType ?? null, about, body.version ?? null]);
  const { chainId: _, ...rest } = body;
  const text = canonicalJson(rest);
  const before = known.get(of);
  if (before === undefined) known.set(of, { number, kind, text });
  else if (before.text !== text) {
    failed(entry, `says something else of ${about} than entry ${before.number}`);
  }
};

/** Forms of members, common to all kinds. */
const IN_BODIES: Readonly<Record<string, Form<unknown>>> = {
  act: amount,
  chainId: nullOr(chainId),
  coinType: type,
  checkpoint: amount,
  checkpointTimestampMs: amount,
  decimals: nullOr(amount),
  facts: amount,
  hash,
  keyId,
  lost: keyId,
  publicKey,
  root: hash,
  sha256: hash,
  total: amount,
};

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  root: ["chainId", "coinType", "checkpoint", "root", "total"],
  head: ["chainId", "checkpoint", "hash"],
  coin: ["chainId", "coinType", "checkpoint", "facts", "hash"],
  key: ["keyId", "publicKey"],
  act: ["act", "sha256"],
};

/** Other corrections may have members of any form beside `of`. */
const IN_REVOCATIONS: typeof IN_BODIES = {
  keyId,
  from: amount,
  why: must((value): value is string => typeof value === "string", "a text"),
};

const failed = ({ number }: SequenceEntry, what: string): never => {
  throw new SequenceError(`entry ${number} ${what}`);
};

const isRevocation = ({ kind, body }: Pick<SequenceEntry, "kind" | "body">) =>
  kind === "correction" && body.of === "key";

const linesOf = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, at): unknown => {
      try {
        return JSON.parse(line);
      } catch {
        throw new SequenceError(`line ${at + 1} is no JSON`);
      }
    });

const faultsIn = (entry: unknown): readonly string[] => {
  const faults = ENTRY(entry, "it");
  if (!isFormed<SequenceEntry>(entry, faults)) return faults;
  const { kind, body } = entry;
  if (correctsRoots(entry)) return correctionFaults(body);
  const isRevoking = isRevocation(entry);
  const forms = isRevoking ? { ...IN_BODIES, ...IN_REVOCATIONS } : IN_BODIES;
  const needed = isRevoking ? Object.keys(IN_REVOCATIONS) : (NEEDED[kind] ?? []);
  return [
    ...needed.flatMap((name) => (Object.hasOwn(body, name) ? [] : [`body.${name} is missing`])),
    ...Object.entries(forms).flatMap(([name, form]) =>
      Object.hasOwn(body, name) ? form(body[name], `body.${name}`) : [],
    ),
  ];
};

const checked = (entry: unknown, at: number): SequenceEntry => {
  const fail = (what: string): never => {
    throw new SequenceError(`entry at place ${at + 1}: ${what}`);
  };
  const faults = faultsIn(entry);
  if (!isFormed<SequenceEntry>(entry, faults)) return fail(faults[0] ?? "");
  try {
    canonicalJson(entry.body);
  } catch (error) {
    fail(shown(error instanceof Error ? error.message : String(error)));
  }
  return entry;
};
