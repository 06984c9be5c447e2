/**
 * The form of everything in an audit pack: each member known, each identifier in its one canonical form, each
 * text and list bounded. What has another form is refused before anything is computed from it.
 */
import { isBase64 } from "./sum-tree.mjs";

/** Reasons that one value can have; more tell nothing new. */
const LISTED = 100;

/** A check tells what is wrong with a value: nothing, or one text for each fault. */
const must = (holds, what) => (value, path) => (holds(value) ? [] : [`${path} must be ${what}`]);

const textOf = (pattern, what) =>
  must((value) => typeof value === "string" && pattern.test(value), what);

const nullOr = (check) => (value, path) => (value === null ? [] : check(value, path));

const quoted = (name) => JSON.stringify(name.slice(0, 100));

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param shape a check for each member; all must be there, and no other */
const membersOf = (shape) => (value, path) => {
  if (!isObject(value)) return [`${path} must be an object`];
  const place = (name) => (path === "it" ? name : `${path}.${name}`);
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name));
  return [
    ...unknown.slice(0, LISTED).map((name) => `${path} has the unknown member ${quoted(name)}`),
    ...Object.entries(shape).flatMap(([name, check]) =>
      Object.hasOwn(value, name) ? check(value[name], place(name)) : [`${place(name)} is missing`],
    ),
  ];
};

/** The same where they stand in this order. */
const orderedMembersOf = (shape) => (value, path) => {
  const faults = membersOf(shape)(value, path);
  const isOrdered = faults.length > 0 || `${Object.keys(value)}` === `${Object.keys(shape)}`;
  return isOrdered ? faults : [`${path} has its members in another order`];
};

const listOf = (check, most) => (value, path) => {
  if (!Array.isArray(value)) return [`${path} must be a list`];
  if (value.length > most) return [`${path} has ${value.length} entries, more than ${most}`];
  return value.flatMap((one, at) => check(one, `${path}[${at}]`)).slice(0, LISTED);
};

/** An object whose members have free names of a form. */
const recordOf = (isName, check, most) => (value, path) => {
  if (!isObject(value)) return [`${path} must be an object`];
  const entries = Object.entries(value);
  if (entries.length > most) return [`${path} has ${entries.length} members, more than ${most}`];
  const faults = [];
  for (const [name, one] of entries) {
    const found = isName(name)
      ? check(one, `${path}[${quoted(name)}]`)
      : [`${path} has the unknown member ${quoted(name)}`];
    faults.push(...found);
    if (faults.length > LISTED) break;
  }
  return faults;
};

const isDecimal = (value) => typeof value === "string" && /^(0|[1-9]\d{0,38})$/.test(value);
const below = (bits) => (value) => isDecimal(value) && BigInt(value) < 2n ** bits;

/** The ledger's numbers; a database keeps them in 63 bits. */
const number = must(below(63n), "a whole number below 2^63, as a text");
const u64 = must(below(64n), "a whole number below 2^64, as a text");
/** Sums are hashed as 16 bytes. */
const amount = must(below(128n), "a whole number below 2^128, as a text");
const change = must(
  (value) => typeof value === "string" && value !== "-0" && below(128n)(value.replace(/^-/, "")),
  "a whole number between -2^128 and 2^128, as a text",
);
/** What a date can hold. */
const timeMs = must(
  (value) => isDecimal(value) && BigInt(value) <= 8_640_000_000_000_000n,
  "a time in milliseconds, as a text",
);
const flag = must((value) => typeof value === "boolean", "true or false");
const hash = textOf(/^[0-9a-f]{64}$/, "64 lower-case hex digits");
const address = textOf(/^0x[0-9a-f]{64}$/, "an address: 0x and 64 lower-case hex digits");
const oneOf = (...known) => must((value) => known.includes(value), `one of ${known.join(", ")}`);
const exactly = (expected) => must((value) => value === expected, JSON.stringify(expected));

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Base58 of 32 bytes, in its only form: one leading 1 for each leading byte of zero. */
export const isDigest = (value) => {
  if (typeof value !== "string" || !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return false;
  let bytes = 0n;
  for (const digit of value) bytes = bytes * 58n + BigInt(BASE58.indexOf(digit));
  const [ones] = /^1*/.exec(value) ?? [""];
  const [zeros] = /^(00)*/.exec(
    bytes === 0n ? "00".repeat(32) : bytes.toString(16).padStart(64, "0"),
  ) ?? [""];
  return bytes < 2n ** 256n && ones.length === zeros.length / 2;
};
const digest = must(isDigest, "a digest: the base58 of 32 bytes");

/** No longer one is indexed. */
const LONGEST_TYPE = 1_024;
/** An address with module and name, behind it maybe parameters: they are taken out from the inside. */
const INNERMOST =
  /(?:0x[0-9a-f]{64}::[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}|(?<![\w:])vector)<#(?:,#)*>|0x[0-9a-f]{64}::[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}(?![\w<])|(?<![\w:#])(?:bool|u8|u16|u32|u64|u128|u256|address|signer)(?![\w<:])/g;

/** Any Move type in canonical form: addresses of 64 lower-case digits, no spaces. */
const isAnyType = (value) => {
  if (typeof value !== "string" || value.length > LONGEST_TYPE) return false;
  if (!/^[\w:,<>]+$/.test(value)) return false;
  let rest = value;
  for (let before = ""; rest !== before; ) {
    before = rest;
    rest = rest.replace(INNERMOST, "#");
  }
  return rest === "#";
};

/** The same of a struct. */
export const isType = (value) => isAnyType(value) && /^0x[0-9a-f]{64}::\w+::\w+(?:<|$)/.test(value);
const type = must(isType, "a Move type in canonical form");
/** A role's type is the granter's choice: it may also be `bool` or a vector. */
const role = must(isAnyType, "a Move type in canonical form");

/** Text of no meaning to the check; printable, so that it can write nothing into a report or terminal. */
export const CHAIN_ID = /^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/;
/** ISO 8601, UTC, milliseconds, of a date that exists: parsers make 2 March of 30 February. */
export const isMoment = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) &&
  !Number.isNaN(Date.parse(value)) &&
  new Date(value).toISOString() === value;

const chainId = textOf(CHAIN_ID, "1 to 100 letters, digits and . _ : -");
export const KEY_ID = /^[0-9A-Za-z_-]{1,100}$/;
const keyId = textOf(KEY_ID, "1 to 100 letters, digits, _ and -");
const publicKey = must(isBase64(32), "base64 of 32 bytes");
const signature = must(isBase64(64), "base64 of 64 bytes");

export const PACK_FORMAT = "holderbook-audit-pack";
export const MANIFEST = "manifest.json";
export const SIGNATURE = "manifest.sig.json";
export const STATE = "first/state.ndjson";
export const MOVEMENTS = "movements.ndjson";
export const HOLDER_EVENTS = "holder-events.ndjson";
export const COMMITTEE = "committee.json";
const ROLE_EVENTS = "role-events.ndjson";
/** Of version 3. */
export const ACTS = "acts.ndjson";
export const TABLES = { first: "first/cap-table.json", last: "last/cap-table.json" };

/** Every file of a pack but the manifest, its signature and the excerpts, with its longest length in bytes. */
const FIXED_FILES = {
  "report.md": 2 ** 28,
  [COMMITTEE]: 2 ** 20,
  [TABLES.first]: 2 ** 31,
  [STATE]: 2 ** 31,
  [TABLES.last]: 2 ** 31,
  [MOVEMENTS]: 2 ** 33,
  [HOLDER_EVENTS]: 2 ** 32,
  [ROLE_EVENTS]: 2 ** 32,
};
const OF_VERSION_3 = { [ACTS]: 2 ** 26 };
/** Of a checkpoint, the network's own limit is some 30 MB. */
const LONGEST_EXCERPT = 2 ** 26;
const EXCERPT = /^(?:checkpoints|epochs)\/(?:0|[1-9]\d{0,17})\.binpb$/;

const fixedFiles = (version) => (version < 3 ? FIXED_FILES : { ...FIXED_FILES, ...OF_VERSION_3 });

export const LONGEST_FILE = (path) => fixedFiles(3)[path] ?? LONGEST_EXCERPT;
const isFileOf = (version) => {
  const fixed = fixedFiles(version);
  return (path) => Object.hasOwn(fixed, path) || EXCERPT.test(path);
};

const mark = membersOf({ checkpoint: number, digest, timestampMs: timeMs });
const root = membersOf({ root: hash, total: amount, signature });
const file = membersOf({ sha256: hash, size: number });
const digests = recordOf((name) => /^[a-z_]{1,40}$/.test(name), hash, 20);

const SHARED = {
  format: exactly(PACK_FORMAT),
  chainId,
  coinType: type,
  packages: listOf(address, 1_000),
  first: mark,
  last: mark,
  trust: membersOf({ epoch: number, checkpoint: nullOr(number), digest: nullOr(digest) }),
  digests: membersOf({ first: digests, last: digests }),
  roots: membersOf({ first: root, last: root }),
  holderNames: nullOr(file),
  keyId,
  publicKey,
};

const manifestOf = (version, more) =>
  membersOf({
    ...SHARED,
    version: exactly(version),
    files: recordOf(isFileOf(version), file, 1_000_000),
    ...more,
  });

const WHOLE = {
  opening: oneOf("whole", "proven", "signed"),
  coinChain: nullOr(membersOf({ facts: number, hash, entry: number })),
};

const MANIFESTS = {
  1: manifestOf(1, { opening: oneOf("proven", "signed") }),
  2: manifestOf(2, WHOLE),
  3: manifestOf(3, WHOLE),
};

/** What is wrong with the JSON of a manifest. */
export const manifestFaults = (json) => {
  if (!isObject(json) || json.format !== PACK_FORMAT || !Object.hasOwn(MANIFESTS, json.version)) {
    return ["has not the form of an audit pack of version 1, 2 or 3"];
  }
  const faults = MANIFESTS[json.version](json, "it");
  if (faults.length > 0) return faults;
  const missing = Object.keys(fixedFiles(json.version)).filter(
    (path) => !Object.hasOwn(json.files, path),
  );
  const { first, last, trust, packages } = json;
  return [
    ...(new Set(packages).size === packages.length ? [] : ["packages has an address twice"]),
    ...missing.map((path) => `files has no ${path}`),
    ...(BigInt(first.checkpoint) < BigInt(last.checkpoint)
      ? []
      : [`last.checkpoint ${last.checkpoint} must be behind first.checkpoint ${first.checkpoint}`]),
    ...(json.version === 1 || (json.opening === "whole") === (json.coinChain !== null)
      ? []
      : ["coinChain must be there when the opening is whole, and only then"]),
    ...((trust.checkpoint === null) === (trust.digest === null)
      ? []
      : ["trust has a checkpoint without its digest, or a digest without its checkpoint"]),
  ];
};

/** Of one holder; the reference contract's own limit is lower. */
const MOST_WALLETS = 10_000;

const decimals = nullOr(
  must(
    (value) => Number.isInteger(value) && value >= 0 && value <= 255,
    "a whole number up to 255, or null",
  ),
);
const share = textOf(/^[01]\.\d{12}$/, "a share with 12 digits after the point");

/** In the order in which their members stand. */
const TABLE_HEAD = {
  coinType: type,
  decimals,
  checkpoint: number,
  checkpointTimestamp: number,
  checkpointDigest: digest,
  totalSupply: nullOr(u64),
  issued: amount,
  holderCount: must((value) => Number.isSafeInteger(value) && value >= 0, "a whole number"),
  root: hash,
  rows: must((value) => Array.isArray(value) && value.length === 0, "a list"),
};
const WALLET = { address, balance: amount, groupId: nullOr(u64), isFrozen: flag };
const ROW = {
  holderId: nullOr(u64),
  wallets: (value, path) => {
    const faults = listOf(orderedMembersOf(WALLET), MOST_WALLETS)(value, path);
    return faults.length === 0 && value.length === 0 ? [`${path} must not be empty`] : faults;
  },
  balance: amount,
  tokens: amount,
  granted: amount,
  unlocked: amount,
  locked: amount,
  share,
};

export const tableHeadFaults = (json) => orderedMembersOf(TABLE_HEAD)(json, "it");
export const rowFaults = (json) => orderedMembersOf(ROW)(json, "it");

/** Far above what the network allows. */
const MOST_MEMBERS = 4_096;
const COMMITTEE_FORM = orderedMembersOf({
  epoch: number,
  members: listOf(
    orderedMembersOf({ publicKey: must(isBase64(96), "base64 of 96 bytes"), stake: number }),
    MOST_MEMBERS,
  ),
});

/** What is wrong with the JSON of the validators at the beginning, who ascend by their keys. */
export const committeeFaults = (json) => {
  const faults = COMMITTEE_FORM(json, "it");
  if (faults.length > 0) return faults;
  const keys = json.members.map(({ publicKey }) => atob(publicKey));
  return keys.every((key, at) => at === 0 || keys[at - 1] < key)
    ? []
    : ["the members must ascend by their keys, each once"];
};

const EVENT = { position: u64, txDigest: digest, timestampMs: timeMs };
const CAUSES =
  "MINT BURN TRANSFER FORCE_TRANSFER GRANT_FUNDED GRANT_CLAIMED GRANT_CANCELLED UNKNOWN".split(" ");
const EVENT_TYPES =
  "holder_added holder_removed holder_address_added holder_address_removed address_joined_group address_left_group address_frozen".split(
    " ",
  );

/** Lines by the file they are in. */
const LINES = {
  [MOVEMENTS]: membersOf({
    ...EVENT,
    owner: address,
    part: oneOf("TOKENS", "GRANTS"),
    cause: oneOf(...CAUSES),
    change,
    balanceAfter: amount,
  }),
  [HOLDER_EVENTS]: membersOf({
    ...EVENT,
    eventType: oneOf(...EVENT_TYPES),
    holderId: nullOr(u64),
    address: nullOr(address),
    groupId: nullOr(u64),
    isFrozen: nullOr(flag),
  }),
  [ROLE_EVENTS]: membersOf({
    ...EVENT,
    owner: address,
    role,
    granted: flag,
    signer: address,
  }),
};

const index = must(
  (value) => isDecimal(value) && BigInt(value) < 1_000_000n,
  "a small number, as a text",
);
/** What the largest object of the ledger has in base64. */
const LONGEST_CONTENTS = 400_000;
const contents = must(
  (value) =>
    typeof value === "string" &&
    value.length <= LONGEST_CONTENTS &&
    (value === "" ||
      isBase64((value.length / 4) * 3 - (/=*$/.exec(value)?.[0].length ?? 0))(value)),
  `base64 of at most ${LONGEST_CONTENTS} characters`,
);

/** What the first register is made of, by kind. */
const STANDING = {
  object: membersOf({
    kind: exactly("object"),
    objectId: address,
    version: u64,
    type,
    name: textOf(/^[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}$/, "a module and a name"),
    checkpoint: number,
    transaction: index,
    index,
    txDigest: digest,
    sender: address,
    timestampMs: timeMs,
    contents,
  }),
  membership: membersOf({
    kind: exactly("membership"),
    address,
    aspect: oneOf("holder", "group", "freeze"),
    value: u64,
    checkpoint: number,
  }),
  role: membersOf({ kind: exactly("role"), owner: address, role, checkpoint: number }),
};
LINES[STATE] = (json, path) =>
  isObject(json) && Object.hasOwn(STANDING, json.kind)
    ? STANDING[json.kind](json, path)
    : [`${path} must be an object, a membership or a role`];

/** Visible ASCII and spaces; no ` either, so that a report can quote it. */
const plainText = (most) =>
  must(
    (value) => typeof value === "string" && value.length <= most && /^[ -_a-~]+$/.test(value),
    `1 to ${most} characters of ASCII that can be seen, without \``,
  );
const DETAIL = (value, path) =>
  value === null || typeof value === "boolean" ? [] : plainText(2_000)(value, path);

LINES[ACTS] = membersOf({
  number: must((value) => isDecimal(value) && value !== "0", "a number from 1 on, as a text"),
  at: must(isMoment, "a time with milliseconds, in UTC"),
  command: textOf(/^[a-z][a-z-]{0,39}(?: [a-z][a-z-]{0,39}){0,2}$/, "the words of a command"),
  details: recordOf((name) => /^[A-Za-z]{1,40}$/.test(name), DETAIL, 20),
  by: membersOf({ user: plainText(200), host: plainText(255), role: plainText(200) }),
  scope: oneOf("deployment", "coin"),
  coinType: nullOr(type),
  salt: textOf(/^[0-9a-f]{32}$/, "32 lower-case hex digits"),
  entry: nullOr(number),
});

/** What is wrong with the JSON of a line of a file. */
export const lineFaults = (path, json) => LINES[path](json, "it");

/** Files of lines, in the order in which they are read: what stood at first, then what happened. */
const LINE_FILES = [STATE, MOVEMENTS, HOLDER_EVENTS, ROLE_EVENTS];
export const lineFiles = ({ version }) => (version < 3 ? LINE_FILES : [...LINE_FILES, ACTS]);
