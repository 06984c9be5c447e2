/**
 * Schemas of everything in an audit pack: known members, canonical identifiers, bounded texts and
 * lists. Checked before anything is computed.
 */
import {
  isAddress,
  isAmount,
  isAnyType,
  isBase64,
  isBelow,
  isChainId,
  isDecimal,
  isDecimals,
  isDigest,
  isFlag,
  isHash,
  isKeyId,
  isLike,
  isMoment,
  isPlain,
  isShare,
  isType,
} from "./forms.ts";

/** A checkpoint: number and time in ms as decimal texts, digest in base58. */
export type PackMark = {
  readonly checkpoint: string;
  readonly digest: string;
  readonly timestampMs: string;
};

/** SHA-256 in hex, size in bytes as decimal text. */
export type PackFile = { readonly sha256: string; readonly size: string };

export type PackRoot = {
  readonly root: string;
  readonly total: string;
  readonly signature: string;
};

/** A manifest as stored; numbers are decimal texts. */
export type PackManifest = {
  readonly format: "holderbook-audit-pack";
  readonly version: 1 | 2 | 3;
  /** The network's chain id, claimed by the signer. */
  readonly chainId: string;
  readonly coinType: string;
  /** The contract's addresses, claimed by the signer. */
  readonly packages: readonly string[];
  readonly first: PackMark;
  readonly last: PackMark;
  /**
   * `whole` (from version 2): all facts since the coin's first; `proven`: the checkpoints that made
   * the first register; `signed`: neither.
   */
  readonly opening: "whole" | "proven" | "signed";
  /**
   * From version 2, if `whole`: the end of the coin's chain of facts and the sequence entry with
   * it, claimed by the signer; decimal texts.
   */
  readonly coinChain?: {
    readonly facts: string;
    readonly hash: string;
    readonly entry: string;
  } | null;
  /**
   * The committee that all signatures follow from; `checkpoint` ended the previous epoch and names
   * it.
   */
  readonly trust: {
    readonly epoch: string;
    readonly checkpoint: string | null;
    readonly digest: string | null;
  };
  /** Pipeline digests at both checkpoints, for `holderbook compare`. */
  readonly digests: {
    readonly first: Readonly<Record<string, string>>;
    readonly last: Readonly<Record<string, string>>;
  };
  /** Signed as in `GET /roots`. */
  readonly roots: { readonly first: PackRoot; readonly last: PackRoot };
  readonly holderNames: PackFile | null;
  readonly keyId: string;
  /** The deployment's key, base64. */
  readonly publicKey: string;
  /** Every file except the manifest and its signature. */
  readonly files: Readonly<Record<string, PackFile>>;
};

/** A line of `acts.ndjson`: an operator's command. */
export type ActLine = {
  /** Decimal, from 1; gaps are acts on other coins or projects. */
  readonly number: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  /** The command without its arguments. */
  readonly command: string;
  /** Its arguments: ids and names. */
  readonly details: { readonly [name: string]: string | boolean | null };
  /** OS account, host, and database role. */
  readonly by: { readonly user: string; readonly host: string; readonly role: string };
  readonly scope: "deployment" | "coin";
  /** The coin of the act; null for the whole deployment. */
  readonly coinType: string | null;
  /** 16 random bytes, hex. */
  readonly salt: string;
  /** The sequence entry with its hash; null if there was none yet. */
  readonly entry: string | null;
};

type Texts<Names extends string> = { readonly [Name in Names]: string };

/** A line of `first/state.ndjson`; numbers are decimal texts. */
export type StateLine =
  | ({ readonly kind: "object" } & Texts<
      | "objectId"
      | "version"
      | "type"
      | "name"
      | "checkpoint"
      | "transaction"
      | "index"
      | "txDigest"
      | "sender"
      | "timestampMs"
      | "contents"
    >)
  | ({
      readonly kind: "membership";
      readonly aspect: "holder" | "group" | "freeze";
    } & Texts<"address" | "value" | "checkpoint">)
  | ({ readonly kind: "role" } & Texts<"owner" | "role" | "checkpoint">);

/** A line of `movements.ndjson`; numbers are decimal texts. */
export type MovementLine = {
  readonly part: "TOKENS" | "GRANTS";
} & Texts<"position" | "txDigest" | "timestampMs" | "owner" | "cause" | "change" | "balanceAfter">;

/** A line of `holder-events.ndjson`; numbers are decimal texts. */
export type HolderEventLine = {
  readonly holderId: string | null;
  readonly address: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean | null;
} & Texts<"position" | "txDigest" | "timestampMs" | "eventType">;

/** A line of `role-events.ndjson`; numbers are decimal texts. */
type RoleEventLine = {
  readonly granted: boolean;
} & Texts<"position" | "txDigest" | "timestampMs" | "owner" | "role" | "signer">;

export type LineOf = {
  readonly [STATE]: StateLine;
  readonly [MOVEMENTS]: MovementLine;
  readonly [HOLDER_EVENTS]: HolderEventLine;
  readonly [ROLE_EVENTS]: RoleEventLine;
  readonly [ACTS]: ActLine;
};

/** Limit of listed faults per value. */
const LISTED = 100;

/** Returns the faults of a value, one text each. */
type Form = (value: unknown, path: string) => readonly string[];
type Shape = Readonly<Record<string, Form>>;

/** No faults: the value has the type that its form describes. */
export const isFormed = <T>(_value: unknown, faults: readonly string[]): _value is T =>
  faults.length === 0;

const must =
  (holds: (value: unknown) => boolean, what: string): Form =>
  (value, path) =>
    holds(value) ? [] : [`${path} must be ${what}`];

const textOf = (pattern: RegExp, what: string) => must(isLike(pattern), what);

const nullOr =
  (form: Form): Form =>
  (value, path) =>
    value === null ? [] : form(value, path);

const quoted = (name: string) => JSON.stringify(name.slice(0, 100));

const membersOf =
  (shape: Shape): Form =>
  (value, path) => {
    if (!isPlain(value)) return [`${path} must be an object`];
    const place = (name: string) => (path === "it" ? name : `${path}.${name}`);
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name));
    return [
      ...unknown.slice(0, LISTED).map((name) => `${path} has the unknown member ${quoted(name)}`),
      ...Object.entries(shape).flatMap(([name, check]) =>
        Object.hasOwn(value, name)
          ? check(value[name], place(name))
          : [`${place(name)} is missing`],
      ),
    ];
  };

/** As `membersOf`, with the members in this order. */
const orderedMembersOf =
  (shape: Shape): Form =>
  (value, path) => {
    const faults = membersOf(shape)(value, path);
    if (faults.length > 0 || !isPlain(value)) return faults;
    const isOrdered = `${Object.keys(value)}` === `${Object.keys(shape)}`;
    return isOrdered ? faults : [`${path} has its members in another order`];
  };

const listOf =
  (form: Form, most: number): Form =>
  (value, path) => {
    if (!Array.isArray(value)) return [`${path} must be a list`];
    if (value.length > most) return [`${path} has ${value.length} entries, more than ${most}`];
    return value.flatMap((one: unknown, at) => form(one, `${path}[${at}]`)).slice(0, LISTED);
  };

/** An object with free member names of one form. */
const recordOf =
  (isName: (name: string) => boolean, form: Form, most: number): Form =>
  (value, path) => {
    if (!isPlain(value)) return [`${path} must be an object`];
    const entries = Object.entries(value);
    if (entries.length > most) return [`${path} has ${entries.length} members, more than ${most}`];
    const faults: string[] = [];
    for (const [name, one] of entries) {
      const found = isName(name)
        ? form(one, `${path}[${quoted(name)}]`)
        : [`${path} has the unknown member ${quoted(name)}`];
      faults.push(...found);
      if (faults.length > LISTED) break;
    }
    return faults;
  };

/** The database keeps the ledger's numbers in 63 bits. */
const number = must(isBelow(63n), "a whole number below 2^63, as a text");
const u64 = must(isBelow(64n), "a whole number below 2^64, as a text");
const amount = must(isAmount, "a whole number below 2^128, as a text");
const change = must(
  (value) => typeof value === "string" && value !== "-0" && isAmount(value.replace(/^-/, "")),
  "a whole number between -2^128 and 2^128, as a text",
);
/** The range of a JavaScript date. */
const timeMs = must(
  (value) => isDecimal(value) && BigInt(value) <= 8_640_000_000_000_000n,
  "a time in milliseconds, as a text",
);
const flag = must(isFlag, "true or false");
const hash = must(isHash, "64 lower-case hex digits");
const address = must(isAddress, "an address: 0x and 64 lower-case hex digits");
const oneOf = (...known: readonly unknown[]) =>
  must((value) => known.includes(value), `one of ${known.join(", ")}`);
const exactly = (expected: string | number) =>
  must((value) => value === expected, JSON.stringify(expected));

const digest = must(isDigest, "a digest: the base58 of 32 bytes");

const type = must(isType, "a Move type in canonical form");
/** The granter chooses a role's type: it may also be `bool` or a vector. */
const role = must(isAnyType, "a Move type in canonical form");

const chainId = must(isChainId, "1 to 100 letters, digits and . _ : -");
const keyId = must(isKeyId, "1 to 100 letters, digits, _ and -");
const publicKey = must(isBase64(32), "base64 of 32 bytes");
const signature = must(isBase64(64), "base64 of 64 bytes");

export const PACK_FORMAT = "holderbook-audit-pack";
export const MANIFEST = "manifest.json";
export const SIGNATURE = "manifest.sig.json";
export const STATE = "first/state.ndjson";
export const MOVEMENTS = "movements.ndjson";
export const HOLDER_EVENTS = "holder-events.ndjson";
export const COMMITTEE = "committee.json";
export const ROLE_EVENTS = "role-events.ndjson";
/** Since version 3. */
export const ACTS = "acts.ndjson";
export const TABLES = { first: "first/cap-table.json", last: "last/cap-table.json" } as const;

/** Every fixed file except manifest and signature, with its maximum length in bytes. */
const FIXED_FILES: Readonly<Record<string, number>> = {
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
/** The network limits a checkpoint to about 30 MB. */
const LONGEST_EXCERPT = 2 ** 26;
const EXCERPT = /^(?:checkpoints|epochs)\/(?:0|[1-9]\d{0,17})\.binpb$/;

const fixedFiles = (version: number) =>
  version < 3 ? FIXED_FILES : { ...FIXED_FILES, ...OF_VERSION_3 };

export const LONGEST_FILE = (path: string): number => fixedFiles(3)[path] ?? LONGEST_EXCERPT;
const isFileOf = (version: number) => {
  const fixed = fixedFiles(version);
  return (path: string) => Object.hasOwn(fixed, path) || EXCERPT.test(path);
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

const manifestOf = (version: number, more: Shape) =>
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

const MANIFESTS: Readonly<Record<number, Form>> = {
  1: manifestOf(1, { opening: oneOf("proven", "signed") }),
  2: manifestOf(2, WHOLE),
  3: manifestOf(3, WHOLE),
};

export const manifestFaults = (json: unknown): readonly string[] => {
  const form =
    isPlain(json) && json.format === PACK_FORMAT ? MANIFESTS[Number(json.version)] : undefined;
  if (form === undefined) return ["has not the form of an audit pack of version 1, 2 or 3"];
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

const decimals = nullOr(must(isDecimals, "a whole number up to 255, or null"));
const share = must(isShare, "a share with 12 digits after the point");

const TABLE_HEAD = {
  coinType: type,
  decimals,
  checkpoint: number,
  checkpointTimestamp: number,
  checkpointDigest: digest,
  totalSupply: nullOr(u64),
  issued: amount,
  holderCount: must((value) => Number.isSafeInteger(value) && Number(value) >= 0, "a whole number"),
  root: hash,
  rows: must((value) => Array.isArray(value) && value.length === 0, "a list"),
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
export type TableHead = {
  readonly coinType: string;
  readonly decimals: number | null;
  readonly checkpoint: string;
  readonly checkpointTimestamp: string;
  readonly checkpointDigest: string;
  readonly totalSupply: string | null;
  readonly issued: string;
  readonly holderCount: number;
  readonly root: string;
};

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
  type Committee = { readonly members: readonly { readonly publicKey: string }[] };
  const faults = COMMITTEE_FORM(json, "it");
  if (!isFormed<Committee>(json, faults)) return faults;
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

const LINES: Record<string, Form> = {
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
/** Base64 length of the ledger's largest object. */
const LONGEST_CONTENTS = 400_000;
const contents = must(
  (value) =>
    typeof value === "string" &&
    value.length <= LONGEST_CONTENTS &&
    (value === "" ||
      isBase64((value.length / 4) * 3 - (/=*$/.exec(value)?.[0].length ?? 0))(value)),
  `base64 of at most ${LONGEST_CONTENTS} characters`,
);

const STATES = new Map<unknown, Form>(
  Object.entries({
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
  }),
);
LINES[STATE] = (json, path) =>
  STATES.get(isPlain(json) ? json.kind : undefined)?.(json, path) ?? [
    `${path} must be an object, a membership or a role`,
  ];

/** Visible ASCII and spaces, no backtick, so that a report can quote it. */
const plainText = (most: number) =>
  must(
    (value) => typeof value === "string" && value.length <= most && /^[ -_a-~]+$/.test(value),
    `1 to ${most} characters of ASCII that can be seen, without \``,
  );
const detail: Form = (value, path) =>
  value === null || typeof value === "boolean" ? [] : plainText(2_000)(value, path);

LINES[ACTS] = membersOf({
  number: must((value) => isDecimal(value) && value !== "0", "a number from 1 on, as a text"),
  at: must(isMoment, "a time with milliseconds, in UTC"),
  command: textOf(/^[a-z][a-z-]{0,39}(?: [a-z][a-z-]{0,39}){0,2}$/, "the words of a command"),
  details: recordOf((name) => /^[A-Za-z]{1,40}$/.test(name), detail, 20),
  by: membersOf({ user: plainText(200), host: plainText(255), role: plainText(200) }),
  scope: oneOf("deployment", "coin"),
  coinType: nullOr(type),
  salt: textOf(/^[0-9a-f]{32}$/, "32 lower-case hex digits"),
  entry: nullOr(number),
});

export const lineFaults = (path: string, json: unknown): readonly string[] =>
  LINES[path]?.(json, "it") ?? [`it is in ${path}, which has no lines`];
