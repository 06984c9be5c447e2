/**
 * Checks entries of a deployment's signed sequence that somebody kept: that the key signed each, that each follows the
 * one before, and that no two say different things of the same checkpoint.
 */
import { canonicalJson } from "./canonical-json.mjs";
import { checked, failed, isRevocation, linesOf, SequenceError } from "./sequence-entries.mjs";
import { hexOf, isBase64, isSignatureOf, utf8 } from "./sum-tree.mjs";

export { SequenceError };

const NOTHING = "0".repeat(64);

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
  const passOver = otherKeys === "passed over";
  const signed = await signedBy(all, publicKey, { isSigned, passOver });
  const revoked = revocations(linked(signed.entries).entries);
  const { entries: judged, keys } = believed(signed.entries, signed.given, revoked);
  const { entries, notShown } = linked(judged);
  agreeing(entries);
  return {
    entries,
    notShown,
    why: notShown.length === 0 ? [] : reasons(signed, revoked),
    keys: [...keys],
    revoked: [...revoked].map(([keyId, { from, entry }]) => ({ keyId, from, entry })),
    whole:
      all[0].number === "0" &&
      notShown.length === 0 &&
      signed.entries.every(({ follows }, at) => follows || at === 0),
    last: signed.last,
    publicKey: [...keys].at(-1),
  };
};

/** Each with the key that signed it, where entries here lead to that, and whether it follows the one before. */
const signedBy = async (all, publicKey, { isSigned, passOver }) => {
  const keyOf = async (text) => ({ publicKey: text, keyId: await keyIdOf(text) });
  const given = await keyOf(publicKey);
  // Each was named by one before; the last one signs.
  const keys = [given];
  const entries = [];
  let lost;
  let before;
  for (const entry of all) {
    const { number, previous, kind, body } = entry;
    if (before !== undefined && BigInt(number) <= BigInt(before.number)) {
      failed(entry, `comes behind entry ${before.number}: each must come once, the lowest first`);
    }
    const follows = before !== undefined && BigInt(number) === BigInt(before.number) + 1n;
    if (follows && previous !== before.hash) {
      failed(entry, "does not have the hash of the one before");
    }
    if (number === "0" && previous !== NOTHING) failed(entry, "is the first and names one before");
    const text = canonicalJson({ purpose: "holderbook-sequence-v1", ...signedMembers(entry) });
    const isOf = (each) => isSigned(entry.signature, text, each.publicKey);
    const signs = lost === undefined ? keys.at(-1) : undefined;
    const by = signs !== undefined && isOf(signs) ? signs : undefined;
    const isLoss = kind === "key" && body.lost !== undefined;
    if (isLoss && !isOf(body)) {
      failed(entry, "names a key in a lost one's place, which did not sign it");
    }
    // Anyone with write access to the database can make such an entry.
    if (isLoss && by === undefined && body.lost === signs?.keyId) lost = { ...body, number };
    else if (by === undefined) refuseForged(entry, { keys, signs, lost, isOf, passOver });
    if (by !== undefined && number === "0" && (kind !== "key" || body.publicKey !== by.publicKey)) {
      failed(entry, "does not name the key that signed it");
    }
    if (by !== undefined && kind === "key" && body.publicKey !== by.publicKey) {
      keys.push(await keyOf(body.publicKey));
    }
    if (isRevocation(entry) && [by?.keyId, entry.keyId].includes(body.keyId)) {
      failed(entry, "revokes the key that signed it");
    }
    entries.push({ entry, by, follows });
    before = { number, hash: await entryHash(entry) };
  }
  return { entries, given, last: before, lost };
};

/** An entry that the key which signs there did not sign is of another key, or false. */
const refuseForged = (entry, { keys, signs, lost, isOf, passOver }) => {
  const former = keys.find((each) => each !== signs && isOf(each));
  if (former !== undefined) {
    failed(
      entry,
      `is signed with the key ${former.publicKey}, in whose place an entry before it puts another`,
    );
  }
  const isPassedOver = passOver || lost !== undefined;
  if (!isPassedOver || keys.some(({ keyId }) => keyId === entry.keyId)) {
    failed(entry, `is not signed with the key ${keys.at(-1).publicKey}`);
  }
};

/** By key id, the entry from which on a key is not believed: the lowest that any of these names. */
const revocations = (entries) => {
  const revoked = new Map();
  for (const entry of entries.filter(isRevocation)) {
    const { keyId, from, why } = entry.body;
    if (BigInt(from) > BigInt(entry.number)) failed(entry, "revokes a key from a later entry on");
    const known = revoked.get(keyId);
    if (known === undefined || BigInt(from) < BigInt(known.from)) {
      revoked.set(keyId, { from, why, entry: entry.number });
    }
  }
  return revoked;
};

/** Without what a revoked key signed, and what only keys that it named there signed. */
const believed = (signed, given, revoked) => {
  const keys = new Set([given.publicKey]);
  const entries = signed.map(({ entry, by, follows }) => {
    const from = revoked.get(by?.keyId)?.from;
    const isKnown =
      by !== undefined &&
      keys.has(by.publicKey) &&
      (from === undefined || BigInt(entry.number) < BigInt(from));
    if (isKnown && entry.kind === "key") keys.add(entry.body.publicKey);
    return { entry, by: isKnown ? by : undefined, follows };
  });
  return { entries, keys };
};

/** Entries of believed keys, and those that the hashes of such entries lead back to. */
const linked = (signed) => {
  const [entries, notShown] = [[], []];
  let isNamed = false;
  for (const { entry, by, follows } of signed.toReversed()) {
    const isShown = by !== undefined || isNamed;
    (isShown ? entries : notShown).push(entry);
    isNamed = isShown && follows;
  }
  return { entries: entries.reverse(), notShown: notShown.reverse() };
};

const reasons = ({ lost }, revoked) => [
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

/** After a correction the log is another one: of what was said before, only roots and acts bind later entries. */
const contradictions = (said, { number, kind, body }, fail) => {
  if (kind === "correction" && body.of !== "key") {
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
