/**
 * Schemas of everything in an audit pack: known members, canonical identifiers, bounded texts and
 * lists. Checked before anything is computed.
 */
import {
  address,
  amount,
  chainId,
  decimals,
  digest,
  exactly,
  type Form,
  flag,
  hash,
  isAnyType,
  isBase64,
  isBelow,
  isDecimal,
  isFormed,
  isPlain,
  keyId,
  like,
  listOf,
  type Members,
  membersOf,
  moment,
  must,
  nullOr,
  oneOf,
  orderedMembersOf,
  plainText,
  publicKey,
  recordOf,
  share,
  signature,
  type TypeOf,
  type,
} from "./forms.ts";

/** The database keeps the ledger's numbers in 63 bits. */
const number = must(isBelow(63n), "a whole number below 2^63, as a text");
const u64 = must(isBelow(64n), "a whole number below 2^64, as a text");
const change = must(
  (value): value is string =>
    typeof value === "string" && value !== "-0" && isBelow(128n)(value.replace(/^-/, "")),
  "a whole number between -2^128 and 2^128, as a text",
);
/** The range of a JavaScript date. */
const timeMs = must(
  (value): value is string => isDecimal(value) && BigInt(value) <= 8_640_000_000_000_000n,
  "a time in milliseconds, as a text",
);
/** The granter chooses a role's type: it may also be `bool` or a vector. */
const role = must(isAnyType, "a Move type in canonical form");

export const PACK_FORMAT = "holderbook-audit-pack";
/** Checkpoints and ends of epochs have one file each, named by number. */
export const FILES = {
  manifest: "manifest.json",
  signature: "manifest.sig.json",
  report: "report.md",
  committee: "committee.json",
  firstTable: "first/cap-table.json",
  firstState: "first/state.ndjson",
  lastTable: "last/cap-table.json",
  movements: "movements.ndjson",
  holderEvents: "holder-events.ndjson",
  roleEvents: "role-events.ndjson",
  /** Since version 3. */
  acts: "acts.ndjson",
  /** Version 4. */
  certificate: "certificate.json",
} as const;

export const TABLES = { first: FILES.firstTable, last: FILES.lastTable } as const;

/** Every fixed file except manifest and signature, with its maximum length in bytes. */
const FIXED_FILES: Readonly<Record<string, number>> = {
  [FILES.report]: 2 ** 28,
  [FILES.committee]: 2 ** 20,
  [TABLES.first]: 2 ** 31,
  [FILES.firstState]: 2 ** 31,
  [TABLES.last]: 2 ** 31,
  [FILES.movements]: 2 ** 33,
  [FILES.holderEvents]: 2 ** 32,
  [FILES.roleEvents]: 2 ** 32,
};
const OF_VERSION_3 = { [FILES.acts]: 2 ** 26 };
const OF_VERSION_4 = { [FILES.certificate]: 2 ** 20 };
/** The network limits a checkpoint to about 30 MB. */
const LONGEST_EXCERPT = 2 ** 26;
const EXCERPT = /^(?:checkpoints|epochs)\/(?:0|[1-9]\d{0,17})\.binpb$/;
const OF_CERTIFICATE = /^(?:later\/(?:0|[1-9]\d{0,17})\.binpb|objects\/(?:0|[1-9]\d{0,17})\.bin)$/;

const fixedFiles = (version: number): Readonly<Record<string, number>> => ({
  ...FIXED_FILES,
  ...(version < 3 ? {} : OF_VERSION_3),
  ...(version < 4 ? {} : OF_VERSION_4),
});

export const LONGEST_FILE = (path: string): number => fixedFiles(4)[path] ?? LONGEST_EXCERPT;
const isFileOf = (version: number) => {
  const fixed = fixedFiles(version);
  return (path: string) =>
    Object.hasOwn(fixed, path) || EXCERPT.test(path) || (version > 3 && OF_CERTIFICATE.test(path));
};

const mark = membersOf({ checkpoint: number, digest, timestampMs: timeMs });
const root = membersOf({ root: hash, total: amount, signature });
const file = membersOf({ sha256: hash, size: number });

/** A checkpoint: number and time in ms as decimal texts, digest in base58. */
export type PackMark = TypeOf<typeof mark>;

/** SHA-256 in hex, size in bytes as decimal text. */
export type PackFile = TypeOf<typeof file>;

export type PackRoot = TypeOf<typeof root>;

const digests = recordOf((name) => /^[a-z_]{1,40}$/.test(name), hash, 20);

const SHARED = {
  format: exactly(PACK_FORMAT),
  /** The network's chain id, claimed by the signer. */
  chainId,
  coinType: type,
  /** The contract's addresses, claimed by the signer. */
  packages: listOf(address, 1_000),
  first: mark,
  last: mark,
  /**
   * The committee that all signatures follow from; `checkpoint` ended the previous epoch and names
   * it.
   */
  trust: membersOf({ epoch: number, checkpoint: nullOr(number), digest: nullOr(digest) }),
  /** Pipeline digests at both checkpoints, for `holderbook compare`. */
  digests: membersOf({ first: digests, last: digests }),
  /** Signed as in `GET /roots`. */
  roots: membersOf({ first: root, last: root }),
  holderNames: nullOr(file),
  keyId,
  /** The deployment's key, base64. */
  publicKey,
};

const WHOLE = {
  /**
   * `whole` (from version 2): all facts since the coin's first; `proven`: the checkpoints that made
   * the first register; `signed`: neither.
   */
  opening: oneOf("whole", "proven", "signed"),
  /**
   * If `whole`: the end of the coin's chain of facts and the sequence entry with it, claimed by the
   * signer; decimal texts.
   */
  coinChain: nullOr(membersOf({ facts: number, hash, entry: number })),
};

/** A manifest as stored; numbers are decimal texts. Version 1 has no `coinChain`. */
export type PackManifest = Members<typeof SHARED> &
  Partial<Members<typeof WHOLE>> &
  Pick<Members<typeof WHOLE>, "opening"> & {
    readonly version: 1 | 2 | 3 | 4;
    /** Every file except the manifest and its signature. */
    readonly files: Readonly<Record<string, PackFile>>;
  };

const manifestOf = (version: number, more: Readonly<Record<string, Form<unknown>>>) =>
  membersOf({
    ...SHARED,
    version: exactly(version),
    files: recordOf(isFileOf(version), file, 1_000_000),
    ...more,
  });

const MANIFESTS: Readonly<Record<number, Form<unknown>>> = {
  1: manifestOf(1, { opening: oneOf("proven", "signed") }),
  2: manifestOf(2, WHOLE),
  3: manifestOf(3, WHOLE),
  4: manifestOf(4, { ...WHOLE, opening: exactly("whole") }),
};

export const manifestFaults = (json: unknown): readonly string[] => {
  const form =
    isPlain(json) && json.format === PACK_FORMAT ? MANIFESTS[Number(json.version)] : undefined;
  if (form === undefined) return ["has not the form of an audit pack of version 1, 2, 3 or 4"];
  const faults = form(json, "it");
  if (!isFormed<PackManifest>(json, faults)) return faults;
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

/** Limit per holder; above the reference contract's. */
const MOST_WALLETS = 10_000;

const TABLE_HEAD = {
  coinType: type,
  decimals,
  checkpoint: number,
  checkpointTimestamp: number,
  checkpointDigest: digest,
  totalSupply: nullOr(u64),
  issued: amount,
  holderCount: must(
    (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
    "a whole number",
  ),
  root: hash,
  rows: must((value): value is [] => Array.isArray(value) && value.length === 0, "a list"),
};
const WALLET = { address, balance: amount, groupId: nullOr(u64), isFrozen: flag };
const ROW = {
  holderId: nullOr(u64),
  wallets: (value: unknown, path: string) =>
    Array.isArray(value) && value.length === 0
      ? [`${path} must not be empty`]
      : listOf(orderedMembersOf(WALLET), MOST_WALLETS)(value, path),
  balance: amount,
  tokens: amount,
  granted: amount,
  unlocked: amount,
  locked: amount,
  share,
};

/** The head of a register; numbers are decimal texts. */
export type TableHead = Omit<Members<typeof TABLE_HEAD>, "rows">;

export const tableHeadFaults = (json: unknown): readonly string[] =>
  orderedMembersOf(TABLE_HEAD)(json, "it");
export const rowFaults = (json: unknown): readonly string[] => orderedMembersOf(ROW)(json, "it");

/** Far above the network's limit. */
const MOST_MEMBERS = 4_096;
const COMMITTEE_FORM = orderedMembersOf({
  epoch: number,
  members: listOf(
    orderedMembersOf({ publicKey: must(isBase64(96), "base64 of 96 bytes"), stake: number }),
    MOST_MEMBERS,
  ),
});

/** Faults of the initial committee's JSON; members ascend by key. */
export const committeeFaults = (json: unknown): readonly string[] => {
  const faults = COMMITTEE_FORM(json, "it");
  if (!isFormed<TypeOf<typeof COMMITTEE_FORM>>(json, faults)) return faults;
  const keys = json.members.map(({ publicKey }) => atob(publicKey));
  return keys.every((key, at) => at === 0 || (keys[at - 1] ?? "") < key)
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

const movement = membersOf({
  ...EVENT,
  owner: address,
  part: oneOf("TOKENS", "GRANTS"),
  cause: oneOf(...CAUSES),
  change,
  balanceAfter: amount,
});

const holderEvent = membersOf({
  ...EVENT,
  eventType: oneOf(...EVENT_TYPES),
  holderId: nullOr(u64),
  address: nullOr(address),
  groupId: nullOr(u64),
  isFrozen: nullOr(flag),
});

const roleEvent = membersOf({ ...EVENT, owner: address, role, granted: flag, signer: address });

const index = must(
  (value): value is string => isDecimal(value) && BigInt(value) < 1_000_000n,
  "a small number, as a text",
);
/** Base64 length of the ledger's largest object. */
const LONGEST_CONTENTS = 400_000;
const contents = must(
  (value): value is string =>
    typeof value === "string" &&
    value.length <= LONGEST_CONTENTS &&
    (value === "" ||
      isBase64((value.length / 4) * 3 - (/=*$/.exec(value)?.[0].length ?? 0))(value)),
  `base64 of at most ${LONGEST_CONTENTS} characters`,
);

const object = membersOf({
  kind: exactly("object"),
  objectId: address,
  version: u64,
  type,
  name: like(/^[A-Za-z_]\w{0,127}::[A-Za-z_]\w{0,127}$/, "a module and a name"),
  checkpoint: number,
  transaction: index,
  index,
  txDigest: digest,
  sender: address,
  timestampMs: timeMs,
  contents,
});

const membership = membersOf({
  kind: exactly("membership"),
  address,
  aspect: oneOf("holder", "group", "freeze"),
  value: u64,
  checkpoint: number,
});

const heldRole = membersOf({ kind: exactly("role"), owner: address, role, checkpoint: number });

const STATES = new Map<unknown, Form<unknown>>(
  Object.entries({ object, membership, role: heldRole }),
);

/** An object, a membership or a role, by its `kind`. */
const state: Form<TypeOf<typeof object | typeof membership | typeof heldRole>> = (json, path) =>
  STATES.get(isPlain(json) ? json.kind : undefined)?.(json, path) ?? [
    `${path} must be an object, a membership or a role`,
  ];

const detail: Form<string | boolean | null> = (value, path) =>
  value === null || typeof value === "boolean" ? [] : plainText(2_000)(value, path);

const act = membersOf({
  /** Decimal, from 1; gaps are acts on other coins or projects. */
  number: must(
    (value): value is string => isDecimal(value) && value !== "0",
    "a number from 1 on, as a text",
  ),
  at: moment,
  /** The command without its arguments. */
  command: like(/^[a-z][a-z-]{0,39}(?: [a-z][a-z-]{0,39}){0,2}$/, "the words of a command"),
  /** Its arguments: ids and names. */
  details: recordOf((name) => /^[A-Za-z]{1,40}$/.test(name), detail, 20),
  /** OS account, host, and database role. */
  by: membersOf({ user: plainText(200), host: plainText(255), role: plainText(200) }),
  scope: oneOf("deployment", "coin"),
  /** The coin of the act; null for the whole deployment. */
  coinType: nullOr(type),
  /** 16 random bytes, hex. */
  salt: like(/^[0-9a-f]{32}$/, "32 lower-case hex digits"),
  /** The sequence entry with its hash; null if there was none yet. */
  entry: nullOr(number),
});

const LINES = {
  [FILES.firstState]: state,
  [FILES.movements]: movement,
  [FILES.holderEvents]: holderEvent,
  [FILES.roleEvents]: roleEvent,
  [FILES.acts]: act,
};

/** Lines by file; numbers are decimal texts. */
export type LineOf = Members<typeof LINES>;

export type StateLine = LineOf[typeof FILES.firstState];
export type MovementLine = LineOf[typeof FILES.movements];
export type HolderEventLine = LineOf[typeof FILES.holderEvents];
/** An operator's command. */
export type ActLine = LineOf[typeof FILES.acts];

const FORM_OF: Readonly<Record<string, Form<unknown>>> = LINES;

export const lineFaults = (path: string, json: unknown): readonly string[] =>
  FORM_OF[path]?.(json, "it") ?? [`it is in ${path}, which has no lines`];
