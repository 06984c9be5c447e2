/**
 * Checks a holder's statement: that its row is part of the cap table whose root it names, and who signed
 * it. Runs in browsers and in Node; docs/reference/formats.md has every hash, for verifiers in other languages.
 */
import { canonicalJson } from "./canonical-json.mjs";
import { CHAIN_ID, isDigest, isMoment, isType, KEY_ID } from "./pack-forms.mjs";
import {
  bytesOf,
  hash,
  hexOf,
  isBase64,
  isSignatureOf,
  leafOf,
  parentOf,
  utf8,
} from "./sum-tree.mjs";

/** What a statement says does not hold; `failures` has every reason. */
export class StatementError extends Error {
  name = "StatementError";
  remedy = "stop";

  constructor(failures) {
    super(failures.join("; "));
    this.failures = failures;
  }
}

export const FORMAT = "holderbook-statement";
/** Of statements before version 2; kept for those who import it. */
export const VERSION = 1;

/** A path through more rows than there are addresses of 64 bits is none. */
const LONGEST_PATH = 64;

const SHARE_DIGITS = 12;

const rootOf1 = ({ chainId, coinType, checkpoint, checkpointDigest, root, total }) => ({
  chainId,
  coinType,
  checkpoint,
  checkpointDigest,
  root,
  total,
});

export const signedRoot = (statement) => ({
  purpose: "holderbook-root-v1",
  ...rootOf1(statement),
});

export const rootBody1 = (statement) => ({ version: "1", ...rootOf1(statement) });

/** An entry of the deployment's sequence: its number, and what came before, are signed with the root. */
export const signedRootEntry = (statement) => ({
  purpose: "holderbook-sequence-v1",
  number: statement.entry.number,
  previous: statement.entry.previous,
  kind: "root",
  body: rootBody(statement),
  at: statement.entry.at,
});

export const rootBody = (statement) => ({
  version: "2",
  chainId: statement.chainId,
  coinType: statement.coinType,
  decimals: statement.decimals === null ? null : statement.decimals.toString(),
  checkpoint: statement.checkpoint,
  checkpointTimestampMs: statement.checkpointTimestampMs,
  checkpointDigest: statement.checkpointDigest,
  root: statement.root,
  total: statement.total,
});

export const signedStatement = ({ signature: _, ...statement }) => ({
  purpose: `holderbook-statement-v${statement.version}`,
  digest: hexOf(hash(utf8(canonicalJson(statement)))),
});

export const entryOf = (statement) => {
  const { purpose: _, ...entry } = signedRootEntry(statement);
  return { ...entry, keyId: statement.keyId, signature: statement.rootSignature };
};

export const verifyStatement = (statement, { root, publicKey, entries = [] } = {}) => {
  const misshapen = shape(statement);
  if (misshapen.length > 0) throw new StatementError(misshapen);
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

export const isRootOf =
  ({ version, coinType, checkpoint }) =>
  ({ kind, body }) =>
    kind === "root" &&
    body.version === `${version}` &&
    body.coinType === coinType &&
    body.checkpoint === checkpoint;

/** Entries that somebody kept must say the same. */
const published = (statement, entries) => {
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

const isLike = (pattern) => (value) => typeof value === "string" && pattern.test(value);
/** Sums are hashed as 16 bytes. */
const isAmount = (value) =>
  typeof value === "string" && /^(0|[1-9]\d{0,38})$/.test(value) && BigInt(value) < 2n ** 128n;
const isHash = isLike(/^[0-9a-f]{64}$/);
const isNullOr = (is) => (value) => value === null || is(value);
const is = (expected) => (value) => value === expected;
const isListOf = (members) => (value) =>
  Array.isArray(value) && value.every((item) => shapeOf(item, members, "").length === 0);

const WALLET = {
  address: isLike(/^0x[0-9a-f]{64}$/),
  balance: isAmount,
  groupId: isNullOr(isAmount),
  isFrozen: (value) => typeof value === "boolean",
};

const ROW = {
  holderId: isNullOr(isAmount),
  wallets: isListOf(WALLET),
  balance: isAmount,
  tokens: isAmount,
  granted: isAmount,
  unlocked: isAmount,
  locked: isAmount,
  share: (value) => typeof value === "string" && /^[01]\.\d{12}$/.test(value),
};

const STEP = {
  hash: isHash,
  sum: isAmount,
  side: (value) => value === "left" || value === "right",
};

const ENTRY = {
  number: isAmount,
  previous: isHash,
  at: isMoment,
};

const STATEMENT_1 = {
  format: is(FORMAT),
  version: is(1),
  chainId: isLike(CHAIN_ID),
  coinType: isType,
  decimals: isNullOr((value) => Number.isInteger(value) && value >= 0 && value <= 255),
  checkpoint: isAmount,
  checkpointTimestamp: isAmount,
  checkpointDigest: isDigest,
  row: (value) => shapeOf(value, ROW, "").length === 0,
  path: (value) => isListOf(STEP)(value) && value.length <= LONGEST_PATH,
  root: isHash,
  total: isAmount,
  totalSupply: isNullOr(isAmount),
  keyId: isLike(KEY_ID),
  publicKey: isBase64(32),
  rootSignature: isBase64(64),
  signature: isBase64(64),
};

const STATEMENT_2 = {
  ...STATEMENT_1,
  version: is(2),
  checkpointTimestampMs: isAmount,
  entry: (value) => shapeOf(value, ENTRY, "").length === 0,
};

/** Unknown members that are named; more tell nothing new. */
const LISTED = 100;

/** A name that somebody else chose: it must write nothing into a terminal. */
const shown = (key) =>
  /^\w{1,40}$/.test(key)
    ? key
    : JSON.stringify(key.slice(0, 40)).replace(
        /[^ -~]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );

/** What is missing, malformed or not known. */
const shapeOf = (value, members, name) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [`${name || "it"} is no object`];
  }
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(members, key));
  const wrong = Object.keys(members).filter(
    (key) => !Object.hasOwn(value, key) || !members[key](value[key]),
  );
  return [
    ...wrong.map((key) => `${name}${key} is missing or malformed`),
    ...unknown.slice(0, LISTED).map((key) => `${name}${shown(key)} is no member of a statement`),
  ];
};

const shape = (statement) => {
  const members = statement?.version === 2 ? STATEMENT_2 : STATEMENT_1;
  const failures = shapeOf(statement, members, "");
  return failures.includes("row is missing or malformed") && statement.row !== undefined
    ? [...shapeOf(statement.row, ROW, "row."), ...failures]
    : failures;
};

/** Whose row it is: no wallet counts twice. */
const wallets = ({ holderId, wallets, balance }) => {
  const isAscending = wallets.every(
    ({ address }, at) => at === 0 || wallets[at - 1].address < address,
  );
  return [
    isAscending ? [] : "the wallets are not in ascending order, each once",
    holderId !== null || wallets.length === 1 ? [] : "a row without a holder is that of one wallet",
    balance !== "0" ? [] : "the row holds nothing, and so is no row of a table",
  ].flat();
};

/** What the row says of itself, in amounts. */
const sums = ({ row, total, totalSupply }) => {
  const [balance, tokens, granted] = [BigInt(row.balance), BigInt(row.tokens), BigInt(row.granted)];
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

export const shareOf = (balance, total) => {
  const scaled = total === 0n ? 0n : (balance * 10n ** BigInt(SHARE_DIGITS)) / total;
  const digits = scaled.toString().padStart(SHARE_DIGITS + 1, "0");
  return `${digits.slice(0, -SHARE_DIGITS)}.${digits.slice(-SHARE_DIGITS)}`;
};

/** Version 2 says the time as what is signed has it, and in seconds as version 1 did. */
const times = ({ version, checkpointTimestamp, checkpointTimestampMs }) =>
  version === 1 || BigInt(checkpointTimestampMs) / 1_000n === BigInt(checkpointTimestamp)
    ? []
    : ["the checkpoint's time in seconds is not that in milliseconds"];

/** From the row up the path. */
const climb = (statement) => {
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

const signatures = (statement) => {
  const isSigned = (signature, signed) =>
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
