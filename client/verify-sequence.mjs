/**
 * Checks entries of a deployment's signed sequence that somebody kept: that the key signed each, that each follows the
 * one before, and that no two say different things of the same checkpoint.
 */
import { canonicalJson } from "./canonical-json.mjs";
import { shown } from "./pack-error.mjs";
import { CHAIN_ID, isMoment, isType, KEY_ID } from "./pack-forms.mjs";
import { hexOf, isBase64, isSignatureOf, utf8 } from "./sum-tree.mjs";

/** What entries of a sequence say does not hold. */
export class SequenceError extends Error {
  name = "SequenceError";
  remedy = "stop";
}

const KINDS = ["root", "head", "coin", "blocks", "inputs", "key", "correction", "act"];
const NOTHING = "0".repeat(64);

const matches = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isNumber = matches(/^(0|[1-9]\d{0,38})$/);
const isHash = matches(/^[0-9a-f]{64}$/);
const isNullOr = (is) => (value) => value === null || is(value);
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const ENTRY = {
  number: isNumber,
  previous: isHash,
  kind: (value) => KINDS.includes(value),
  body: isPlain,
  at: isMoment,
  keyId: matches(KEY_ID),
  signature: isBase64(64),
};

/** Members of bodies that have one form whatever the kind. */
const IN_BODIES = {
  act: isNumber,
  chainId: isNullOr(matches(CHAIN_ID)),
  coinType: isType,
  checkpoint: isNumber,
  checkpointTimestampMs: isNumber,
  decimals: isNullOr(isNumber),
  facts: isNumber,
  hash: isHash,
  keyId: matches(KEY_ID),
  publicKey: isBase64(32),
  root: isHash,
  sha256: isHash,
  total: isNumber,
};

/** What each kind cannot do without. */
const NEEDED = {
  root: ["chainId", "coinType", "checkpoint", "root", "total"],
  head: ["chainId", "checkpoint", "hash"],
  coin: ["chainId", "coinType", "checkpoint", "facts", "hash"],
  key: ["keyId", "publicKey"],
  act: ["act", "sha256"],
};

const signedMembers = ({ number, previous, kind, body, at }) => ({
  number,
  previous,
  kind,
  body,
  at,
});

const sha256 = async (text) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));

export const entryHash = (entry) => sha256(canonicalJson(signedMembers(entry)));

const keyIdOf = async (publicKey) => `dep_${(await sha256(publicKey)).slice(0, 16)}`;

export const verifySequence = async (kept, known) => {
  const { publicKey, otherKeys = "refused", isSigned = isSignatureOf } = known;
  if (!isBase64(32)(publicKey)) throw new SequenceError("the key is not base64 of 32 bytes");
  const all = (typeof kept === "string" ? linesOf(kept) : [...kept]).map(checked);
  if (all.length === 0) throw new SequenceError("there are no entries");
  const signed = await signedBy(all, publicKey, {
    isSigned,
    passOver: otherKeys === "passed over",
  });
  const { entries, notShown } = linked(signed.entries);
  agreeing(entries);
  return {
    entries,
    notShown,
    whole: all[0].number === "0" && notShown.length === 0 && signed.whole,
    last: signed.last,
    publicKey: signed.publicKey,
  };
};

const failed = ({ number }, what) => {
  throw new SequenceError(`entry ${number} ${what}`);
};

/** Each with whether a known key signed it, and whether it follows the one before, whose hash it then has. */
const signedBy = async (all, publicKey, { isSigned, passOver }) => {
  const entries = [];
  let key = publicKey;
  let before;
  for (const entry of all) {
    const { number, previous } = entry;
    if (before !== undefined && BigInt(number) <= BigInt(before.number)) {
      failed(entry, `comes behind entry ${before.number}: each must come once, the lowest first`);
    }
    const follows = before !== undefined && BigInt(number) === BigInt(before.number) + 1n;
    if (follows && previous !== before.hash) {
      failed(entry, "does not have the hash of the one before");
    }
    if (number === "0" && previous !== NOTHING) failed(entry, "is the first and names one before");
    const text = canonicalJson({ purpose: "holderbook-sequence-v1", ...signedMembers(entry) });
    const isKnown = isSigned(entry.signature, text, key);
    if (!isKnown && (!passOver || entry.keyId === (await keyIdOf(key)))) {
      failed(entry, `is not signed with the key ${key}`);
    }
    if (isKnown && number === "0" && (entry.kind !== "key" || entry.body.publicKey !== key)) {
      failed(entry, "does not name the key that signed it");
    }
    if (isKnown && entry.kind === "key") key = entry.body.publicKey;
    entries.push({ entry, isKnown, follows });
    before = { number, hash: await entryHash(entry) };
  }
  const whole = entries.every(({ follows }, at) => follows || at === 0);
  return { entries, whole, last: before, publicKey: key };
};

/** Entries signed with a known key, and those that the hashes of such entries lead back to. */
const linked = (signed) => {
  const [entries, notShown] = [[], []];
  let isNamed = false;
  for (const { entry, isKnown, follows } of signed.toReversed()) {
    const isShown = isKnown || isNamed;
    (isShown ? entries : notShown).push(entry);
    isNamed = isShown && follows;
  }
  return { entries: entries.reverse(), notShown: notShown.reverse() };
};

/** None is dated before one of a lower number, or says something else of the same. */
const agreeing = (entries) => {
  const said = new Map();
  let before;
  for (const entry of entries) {
    if (before !== undefined && entry.at < before.at) {
      failed(entry, `is dated ${entry.at}, before entry ${before.number} (${before.at})`);
    }
    contradictions(said, entry, (what) => failed(entry, what));
    before = entry;
  }
};

/** From a correction on, entries are about the log that was read anew. */
const contradictions = (said, { number, kind, body }, fail) => {
  if (kind === "correction") {
    for (const [of, { kind: about }] of said)
      if (about !== "root" && about !== "act") said.delete(of);
  }
  if (!["root", "head", "coin", "act"].includes(kind)) return;
  const about = kind === "act" ? `act ${body.act}` : `checkpoint ${body.checkpoint}`;
  const of = canonicalJson([kind, body.coinType ?? null, about, body.version ?? null]);
  const { chainId: _, ...saying } = body;
  const text = canonicalJson(saying);
  const known = said.get(of);
  if (known === undefined) said.set(of, { number, kind, text });
  else if (known.text !== text) {
    fail(`says something else of ${about} than entry ${known.number}`);
  }
};

const linesOf = (text) =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, at) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new SequenceError(`line ${at + 1} is no JSON`);
      }
    });

const checked = (entry, at) => {
  const fail = (what) => {
    throw new SequenceError(`entry at place ${at + 1}: ${what}`);
  };
  if (!isPlain(entry)) fail("it is no object");
  for (const name of Object.keys(entry)) {
    if (!Object.hasOwn(ENTRY, name)) fail(`${shown(name)} is no member of an entry`);
  }
  for (const [name, is] of Object.entries(ENTRY)) {
    if (!is(entry[name])) fail(`${name} is missing or not in its one form`);
  }
  for (const [name, value] of Object.entries(entry.body)) {
    const is = Object.hasOwn(IN_BODIES, name) ? IN_BODIES[name] : undefined;
    if (is !== undefined && !is(value)) fail(`${name} of the body is not in its one form`);
  }
  for (const name of NEEDED[entry.kind] ?? []) {
    if (!Object.hasOwn(entry.body, name)) fail(`the body has no ${name}`);
  }
  try {
    canonicalJson(entry.body);
  } catch (error) {
    fail(shown(error.message));
  }
  return entry;
};
