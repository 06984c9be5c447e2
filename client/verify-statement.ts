/**
 * Checks a holder's statement: its row is in the cap table with the named root, and who signed it.
 * Runs in browsers and Node. docs/reference/formats.md defines the hashes.
 */
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { type RowOf, shareOf } from "./cap-rows.ts";
import {
  type Check,
  isAddress,
  isAmount,
  isBase64,
  isChainId,
  isDecimals,
  isDigest,
  isFlag,
  isHash,
  isKeyId,
  isMoment,
  isNullOr,
  isPlain,
  isShare,
  isType,
} from "./forms.ts";
import { bytesOf, hashOf, hexOf, isSignatureOf, leafOf, parentOf, utf8 } from "./sum-tree.ts";
import type { SequenceEntry } from "./verify-sequence.ts";

/** Amounts are decimal texts. */
export type StatementRow = RowOf<string> & {
  /** Balance / total, 12 decimals, rounded down. */
  readonly share: string;
};

/**
 * A holder's row and the proof that it is in the cap table. Amounts are decimal texts in the
 * smallest unit; hashes are hex without 0x.
 */
export type Statement = Statement1 | Statement2;

/** The root covers only holder, addresses, balance, tokens and granted. */
export type Statement1 = Said & { readonly version: 1 };

/** The root covers the whole row and the decimals, and is an entry of the sequence. */
export type Statement2 = Said & {
  readonly version: 2;
  /** The checkpoint's time, Unix ms. */
  readonly checkpointTimestampMs: string;
  /** The sequence entry that publishes the root; signed with the root. */
  readonly entry: {
    readonly number: string;
    /** SHA-256 of the previous entry, hex; 64 zeros for the first. */
    readonly previous: string;
    /** Time of signing, ISO 8601 UTC with ms. */
    readonly at: string;
  };
};

type Said = {
  readonly format: "holderbook-statement";
  /** The network's id. */
  readonly chainId: string;
  readonly coinType: string;
  /** Null until the coin's metadata is known. */
  readonly decimals: number | null;
  /** The table is the one at the end of this checkpoint. */
  readonly checkpoint: string;
  /** The checkpoint's time, unix seconds. */
  readonly checkpointTimestamp: string;
  readonly checkpointDigest: string;
  readonly row: StatementRow;
  /** The siblings from row to root. */
  readonly path: readonly StatementStep[];
  readonly root: string;
  /** Sum of all rows. */
  readonly total: string;
  /** The treasury's supply; null if the log has not seen the treasury. */
  readonly totalSupply: string | null;
  readonly keyId: string;
  /** The deployment's key, base64 of 32 bytes. */
  readonly publicKey: string;
  /** Ed25519 over `signedRoot` (version 1) or `signedRootEntry` (version 2), base64. */
  readonly rootSignature: string;
  /** Ed25519 over `signedStatement`, base64. */
  readonly signature: string;
};

export type StatementStep = {
  readonly hash: string;
  readonly sum: string;
  readonly side: "left" | "right";
};

/** The statement is wrong. Stop: do not rely on it. */
export class StatementError extends Error {
  override readonly name = "StatementError";
  readonly remedy = "stop";
  /** Failed checks, in words; never empty. */
  readonly failures: readonly string[];

  constructor(failures: readonly string[]) {
    super(failures.join("; "));
    this.failures = failures;
  }
}

export const FORMAT: Statement["format"] = "holderbook-statement";
/** Kept for existing importers. */
export const VERSION = 1;

/** Limit of steps, far above any table's. */
const LONGEST_PATH = 64;

/** The members of a version 1 root; all are texts. */
type Root1 = Pick<
  Statement1,
  "chainId" | "coinType" | "checkpoint" | "checkpointDigest" | "root" | "total"
>;

const rootOf1 = ({
  chainId,
  coinType,
  checkpoint,
  checkpointDigest,
  root,
  total,
}: Root1): Root1 => ({
  chainId,
  coinType,
  checkpoint,
  checkpointDigest,
  root,
  total,
});

/** The signed content of a version 1 root, as RFC 8785 JSON. */
export const signedRoot = (root: Root1): { readonly purpose: "holderbook-root-v1" } & Root1 => ({
  purpose: "holderbook-root-v1",
  ...rootOf1(root),
});

/** The body of the sequence entry that publishes a version 1 root. */
export const rootBody1 = (root: Root1): { readonly version: "1" } & Root1 => ({
  version: "1",
  ...rootOf1(root),
});

/** The members of a version 2 root, beside its entry. */
export type Root2 = Pick<
  Statement2,
  | "chainId"
  | "coinType"
  | "decimals"
  | "checkpoint"
  | "checkpointTimestampMs"
  | "checkpointDigest"
  | "root"
  | "total"
>;

/** The body of the entry that publishes a version 2 root; all are texts. */
export const rootBody = (statement: Root2) => ({
  version: "2" as const,
  chainId: statement.chainId,
  coinType: statement.coinType,
  decimals: statement.decimals?.toString() ?? null,
  checkpoint: statement.checkpoint,
  checkpointTimestampMs: statement.checkpointTimestampMs,
  checkpointDigest: statement.checkpointDigest,
  root: statement.root,
  total: statement.total,
});

/**
 * The signed content of a version 2 root, as RFC 8785 JSON: a sequence entry, so that its number
 * and predecessor are signed too.
 */
export const signedRootEntry = (root: Root2 & Pick<Statement2, "entry">) => ({
  purpose: "holderbook-sequence-v1" as const,
  number: root.entry.number,
  previous: root.entry.previous,
  kind: "root" as const,
  body: rootBody(root),
  at: root.entry.at,
});

/**
 * The signed content of a statement, as RFC 8785 JSON; `digest` is BLAKE2b-256 (hex) over the RFC
 * 8785 JSON without `signature`.
 */
export const signedStatement = (
  signed: Statement | Omit<Statement1, "signature"> | Omit<Statement2, "signature">,
): {
  readonly purpose: "holderbook-statement-v1" | "holderbook-statement-v2";
  readonly digest: string;
} => {
  const { signature: _, ...statement }: Partial<Statement> = signed;
  return {
    purpose: `holderbook-statement-v${signed.version}`,
    digest: hexOf(hashOf(utf8(canonicalJson(statement)))),
  };
};

/** The sequence entry of a version 2 statement, as in `GET /sequence`. */
export const entryOf = (statement: Statement2): SequenceEntry => {
  const { purpose: _, ...entry } = signedRootEntry(statement);
  return { ...entry, keyId: statement.keyId, signature: statement.rootSignature };
};

/**
 * Checks a parsed statement: the row's sums, its path to root and total, and both signatures.
 * Without options it proves only consistency since signing, not whose key signed.
 * @param options.root root of its version from elsewhere, hex (`GET /roots?version=`): proves one
 * common table
 * @param options.publicKey the deployment's key, base64, from a source other than the statement
 * @param options.entries from `verifySequence`: those about this token's root at this checkpoint
 * and version must name its root
 * @returns the statement
 * @throws StatementError naming every failed check
 */
export const verifyStatement = (
  statement: unknown,
  {
    root,
    publicKey,
    entries = [],
  }: {
    readonly root?: string | undefined;
    readonly publicKey?: string | undefined;
    readonly entries?: readonly SequenceEntry[] | undefined;
  } = {},
): Statement => {
  if (!isStatement(statement)) throw new StatementError(shapeFaults(statement));
  const failures = [
    ...wallets(statement.row),
    ...sums(statement),
    ...times(statement),
    ...climb(statement),
    ...signatures(statement),
    ...(root === undefined || root.toLowerCase() === statement.root
      ? []
      : [
          `the root is ${statement.root}, not the ${root} that was given` +
            (statement.version === 1 ? "" : "; those of version 2 are at GET /roots?version=2"),
        ]),
    ...(publicKey === undefined || publicKey === statement.publicKey
      ? []
      : [`it is signed with the key ${statement.publicKey}, not with ${publicKey}`]),
    ...published(statement, entries),
  ];
  if (failures.length > 0) throw new StatementError(failures);
  return statement;
};

/** Whether an entry publishes a root of the same token, checkpoint and version. */
export const isRootOf =
  ({ version, coinType, checkpoint }: Pick<Statement, "version" | "coinType" | "checkpoint">) =>
  ({ kind, body }: Pick<SequenceEntry, "kind" | "body">): boolean =>
    kind === "root" &&
    body.version === `${version}` &&
    body.coinType === coinType &&
    body.checkpoint === checkpoint;

const published = (statement: Statement, entries: readonly SequenceEntry[]) => {
  const own = statement.version === 1 ? rootBody1(statement) : rootBody(statement);
  const text = canonicalJson(own);
  return entries
    .filter(isRootOf(statement))
    .filter(({ body }) => canonicalJson(body) !== text)
    .map(
      ({ number, body }) =>
        `entry ${number}, which was kept, says of checkpoint ${own.checkpoint} the root ${body.root} and the total ${body.total}, or another time or digest of it; the statement says ${own.root} and ${own.total}`,
    );
};

/** All members are required; no others are allowed. */
type Shape<T> = { readonly [Member in keyof T]-?: Check<T[Member]> };

const is =
  <const T>(...known: readonly T[]): Check<T> =>
  (value): value is T =>
    known.some((one) => one === value);

const isShaped =
  <T>(shape: Shape<T>): Check<T> =>
  (value): value is T =>
    faultsOf(value, shape, "").length === 0;

const isListOf =
  <T>(isItem: Check<T>): Check<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.every(isItem);

const ROW: Shape<StatementRow> = {
  holderId: isNullOr(isAmount),
  wallets: isListOf(
    isShaped<StatementRow["wallets"][number]>({
      address: isAddress,
      balance: isAmount,
      groupId: isNullOr(isAmount),
      isFrozen: isFlag,
    }),
  ),
  balance: isAmount,
  tokens: isAmount,
  granted: isAmount,
  unlocked: isAmount,
  locked: isAmount,
  share: isShare,
};

const isPath = isListOf(
  isShaped<StatementStep>({ hash: isHash, sum: isAmount, side: is("left", "right") }),
);

const SHARED: Shape<Omit<Said, "format">> = {
  chainId: isChainId,
  coinType: isType,
  decimals: isNullOr(isDecimals),
  checkpoint: isAmount,
  checkpointTimestamp: isAmount,
  checkpointDigest: isDigest,
  row: isShaped(ROW),
  path: (value): value is readonly StatementStep[] => isPath(value) && value.length <= LONGEST_PATH,
  root: isHash,
  total: isAmount,
  totalSupply: isNullOr(isAmount),
  keyId: isKeyId,
  publicKey: isBase64(32),
  rootSignature: isBase64(64),
  signature: isBase64(64),
};

const STATEMENT_1: Shape<Statement1> = { format: is(FORMAT), version: is(1), ...SHARED };

const STATEMENT_2: Shape<Statement2> = {
  format: is(FORMAT),
  version: is(2),
  ...SHARED,
  checkpointTimestampMs: isAmount,
  entry: isShaped<Statement2["entry"]>({ number: isAmount, previous: isHash, at: isMoment }),
};

/** Limit of listed unknown members. */
const LISTED = 100;

/** Untrusted name, made safe for a terminal. */
const shown = (key: string) =>
  /^\w{1,40}$/.test(key)
    ? key
    : JSON.stringify(key.slice(0, 40)).replace(
        /[^ -~]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );

/** Members that are missing, malformed or unknown. */
const faultsOf = (
  value: unknown,
  shape: Readonly<Record<string, Check<unknown>>>,
  name: string,
): readonly string[] => {
  if (!isPlain(value)) return [`${name || "it"} is no object`];
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(shape, key));
  const wrong = Object.entries(shape).filter(
    ([key, check]) => !Object.hasOwn(value, key) || !check(value[key]),
  );
  return [
    ...wrong.map(([key]) => `${name}${key} is missing or malformed`),
    ...unknown.slice(0, LISTED).map((key) => `${name}${shown(key)} is no member of a statement`),
  ];
};

const isStatement = (value: unknown): value is Statement =>
  isShaped(STATEMENT_1)(value) || isShaped(STATEMENT_2)(value);

const shapeFaults = (value: unknown) => {
  const { version, row } = isPlain(value) ? value : {};
  const faults = faultsOf(value, version === 2 ? STATEMENT_2 : STATEMENT_1, "");
  return faults.includes("row is missing or malformed") && row !== undefined
    ? [...faultsOf(row, ROW, "row."), ...faults]
    : faults;
};

/** Wallets are unique, and a row without a holder has exactly one. */
const wallets = ({ holderId, wallets, balance }: StatementRow) => {
  const isAscending = wallets.every(
    ({ address }, at) => (wallets[at - 1]?.address ?? "") < address,
  );
  return [
    isAscending ? [] : "the wallets are not in ascending order, each once",
    holderId !== null || wallets.length === 1 ? [] : "a row without a holder is that of one wallet",
    balance !== "0" ? [] : "the row holds nothing, and so is no row of a table",
  ].flat();
};

const sums = ({ row, total, totalSupply }: Statement) => {
  const balance = BigInt(row.balance);
  const tokens = BigInt(row.tokens);
  const granted = BigInt(row.granted);
  const held = row.wallets.reduce((sum, wallet) => sum + BigInt(wallet.balance), 0n);
  return [
    tokens + granted === balance ? [] : "tokens and granted do not add up to the balance",
    BigInt(row.unlocked) + BigInt(row.locked) === granted
      ? []
      : "unlocked and locked do not add up to granted",
    held === balance ? [] : "the wallets' balances do not add up to the balance",
    shareOf(balance, BigInt(total)) === row.share
      ? []
      : "the share is not balance divided by total",
    totalSupply === null || totalSupply === total
      ? []
      : `the rows add up to ${total}, but the treasury's supply is ${totalSupply}`,
  ].flat();
};

/** Version 2 signs the time in ms; the seconds of version 1 must agree. */
const times = (statement: Statement) =>
  statement.version === 1 ||
  BigInt(statement.checkpointTimestampMs) / 1_000n === BigInt(statement.checkpointTimestamp)
    ? []
    : ["the checkpoint's time in seconds is not that in milliseconds"];

/** The path must lead from the row to root and total. */
const climb = (statement: Statement) => {
  let node = leafOf(statement);
  for (const { hash: hex, sum, side } of statement.path) {
    const sibling = { hash: bytesOf(hex), sum: BigInt(sum) };
    node = side === "left" ? parentOf(sibling, node) : parentOf(node, sibling);
    if (node.sum >= 2n ** 128n) return ["the sums of the path are larger than any total"];
  }
  const [root, total] = [hexOf(node.hash), node.sum.toString()];
  return [
    ...(root === statement.root ? [] : [`row and path lead to the root ${root}, not to its own`]),
    ...(total === statement.total ? [] : [`row and path add up to ${total}, not to its total`]),
  ];
};

const signatures = (statement: Statement) => {
  const isSigned = (signature: string, signed: JsonValue) =>
    isSignatureOf(signature, canonicalJson(signed), statement.publicKey);
  return [
    isSigned(
      statement.rootSignature,
      statement.version === 2 ? signedRootEntry(statement) : signedRoot(statement),
    )
      ? []
      : "the signature of the root does not fit the key",
    isSigned(statement.signature, signedStatement(statement))
      ? []
      : "the signature of the statement does not fit the key",
  ].flat();
};
