/**
 * Checks a holder's statement: its row is in the cap table with the named root, and who signed it.
 * Runs in browsers and Node. docs/reference/formats.md defines the hashes.
 */
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { shareOf } from "./cap-rows.ts";
import {
  address,
  amount,
  chainId,
  decimals,
  digest,
  exactly,
  flag,
  hash,
  isFormed,
  isPlain,
  keyId,
  listOf,
  type Members,
  membersOf,
  moment,
  nullOr,
  oneOf,
  publicKey,
  share,
  signature,
  type TypeOf,
  type,
} from "./forms.ts";
import { correctionText, type RootSaid, RootsSaid } from "./root-corrections.ts";
import { bytesOf, hashOf, hexOf, isSignatureOf, leafOf, parentOf, utf8 } from "./sum-tree.ts";
import type { SequenceEntry } from "./verify-sequence.ts";

export const FORMAT = "holderbook-statement" as const;

/** Limit of steps, far above any table's. */
const LONGEST_PATH = 64;

const ROW = membersOf({
  holderId: nullOr(amount),
  /** By address, ascending; includes empty wallets. */
  wallets: listOf(membersOf({ address, balance: amount, groupId: nullOr(amount), isFrozen: flag })),
  /** Tokens and grants; more than 0. */
  balance: amount,
  tokens: amount,
  granted: amount,
  /** Part of `granted` claimable at the checkpoint's time; `locked` is the rest. */
  unlocked: amount,
  locked: amount,
  /** Balance / total, 12 decimals, rounded down. */
  share,
});

const STEP = membersOf({ hash, sum: amount, side: oneOf("left", "right") });

const SHARED = {
  format: exactly(FORMAT),
  /** The network's id. */
  chainId,
  coinType: type,
  /** Null until the coin's metadata is known. */
  decimals,
  /** The table is the one at the end of this checkpoint. */
  checkpoint: amount,
  /** The checkpoint's time, unix seconds. */
  checkpointTimestamp: amount,
  checkpointDigest: digest,
  row: ROW,
  /** The siblings from row to root. */
  path: listOf(STEP, LONGEST_PATH),
  root: hash,
  /** Sum of all rows. */
  total: amount,
  /** The treasury's supply; null if the log has not seen the treasury. */
  totalSupply: nullOr(amount),
  keyId,
  /** The deployment's key, base64 of 32 bytes. */
  publicKey,
  /** Ed25519 over `signedRoot` (version 1) or `signedRootEntry` (version 2), base64. */
  rootSignature: signature,
  /** Ed25519 over `signedStatement`, base64. */
  signature,
};

const SHARED_2 = {
  ...SHARED,
  /** The checkpoint's time, Unix ms. */
  checkpointTimestampMs: amount,
  /** The sequence entry that publishes the root; signed with the root. */
  entry: membersOf({
    number: amount,
    /** SHA-256 of the previous entry, hex; 64 zeros for the first. */
    previous: hash,
    /** Time of signing, ISO 8601 UTC with ms. */
    at: moment,
  }),
};

const STATEMENT_1 = membersOf({ ...SHARED, version: exactly(1) });
const STATEMENT_2 = membersOf({ ...SHARED_2, version: exactly(2) });

/** Amounts are decimal texts. */
export type StatementRow = TypeOf<typeof ROW>;

export type StatementStep = TypeOf<typeof STEP>;

/** The root covers only holder, addresses, balance, tokens and granted. */
export type Statement1 = Members<typeof SHARED> & { readonly version: 1 };

/** The root covers the whole row and the decimals, and is an entry of the sequence. */
export type Statement2 = Members<typeof SHARED_2> & { readonly version: 2 };

/**
 * A holder's row and the proof that it is in the cap table. Amounts are decimal texts in the
 * smallest unit; hashes are hex without 0x.
 */
export type Statement = Statement1 | Statement2;

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

/** Kept for existing importers. */
export const VERSION = 1;

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
 * and version must name its root. A correction of the other version's root alone is no failure: `correctedBeside` says
 * what it leaves open
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
  const isVersion2 = isPlain(statement) && statement.version === 2;
  const faults = (isVersion2 ? STATEMENT_2 : STATEMENT_1)(statement, "it");
  if (!isFormed<Statement>(statement, faults)) throw new StatementError(faults);
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
  const roots = new RootsSaid();
  for (const entry of entries) roots.add(entry);
  const said = roots.of(own);
  if (said !== undefined && said.corrections.length > 0) return corrected(statement, said);
  const text = canonicalJson(own);
  return entries
    .filter(isRootOf(statement))
    .filter(({ body }) => canonicalJson(body) !== text)
    .map(
      ({ number, body }) =>
        `entry ${number}, which was kept, says of checkpoint ${own.checkpoint} the root ${body.root} and the total ${body.total}, or another time or digest of it; the statement says ${own.root} and ${own.total}`,
    );
};

/** Only the corrected root holds, and a statement's entry must be from when its root did. */
const corrected = (statement: Statement, { root, total, body, corrections }: RootSaid) => {
  const isOwn = (of: { readonly root: string; readonly total: string } | undefined) =>
    of?.root === statement.root && of.total === statement.total;
  const last = corrections.map(correctionText).at(-1);
  if (!isOwn({ root, total })) {
    return [
      `${last}; the statement has the root ${statement.root} with the total ${statement.total}`,
    ];
  }
  const own = statement.version === 1 ? rootBody1(statement) : rootBody(statement);
  if (body !== undefined && canonicalJson(body) !== canonicalJson(own)) {
    return [`${last}; the statement has another time or digest of the checkpoint`];
  }
  if (statement.version === 1) return [];
  const { number } = statement.entry;
  const then = corrections.findLast((one) => BigInt(one.number) < BigInt(number));
  return isOwn(then?.to ?? corrections[0]?.from)
    ? []
    : [`${last}; the statement says that entry ${number} named that root, when it did not hold`];
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
