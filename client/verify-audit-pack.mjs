/**
 * Checks what of an audit pack needs no ledger: who signed it, that every file is the one that was signed,
 * that both registers give the signed roots, and that the movements lead from one to the other. Runs in
 * browsers and in Node. `holderbook audit-pack verify` also folds the facts and verifies the validators.
 */
import { canonicalJson } from "./canonical-json.mjs";
import { hexOf, isBase64, isSignatureOf, rootOf } from "./sum-tree.mjs";
import { signedRoot } from "./verify-statement.mjs";

/** What an audit pack says does not hold; `failures` has every reason, with its file. */
export class AuditPackError extends Error {
  name = "AuditPackError";
  remedy = "stop";

  constructor(failures) {
    super(failures.map(({ file, what }) => `${file}: ${what}`).join("; "));
    this.failures = failures;
  }
}

const MANIFEST = "manifest.json";
const SIGNATURE = "manifest.sig.json";
const MOVEMENTS = "movements.ndjson";
const TABLES = { first: "first/cap-table.json", last: "last/cap-table.json" };

/** Bytes of a manifest; a pack of 100,000 checkpoints has 20 MB of it. */
const LONGEST_MANIFEST = 128 * 1024 * 1024;

/** So many reasons are listed; a pack that was packed wrongly has thousands. */
const LISTED = 100;

export const UNCHECKED = [
  "that the movements follow from transactions that the validators signed: run `holderbook audit-pack verify`, which folds the facts, on a machine of yours",
  "that the first register stands on the ledger, that no transaction is left out, and events of holders and roles: the same command does what can be done",
  "which validators stand at the beginning: compare `trust` with what you know from elsewhere",
];

export const verifyAuditPack = async (files, { publicKey, signal } = {}) => {
  if (globalThis.crypto?.subtle === undefined) {
    throw new Error("hashing needs crypto.subtle: open the page over https, or at localhost");
  }
  const pack = new Map([...files].map(([path, file]) => [path, new Blob([file])]));
  const manifest = await signedManifest(pack);
  // One step stands on the one before: an unsigned list of files says nothing.
  stopAt([
    ...(publicKey === undefined || publicKey === manifest.publicKey
      ? []
      : [
          {
            file: MANIFEST,
            what: `is signed with the key ${manifest.publicKey}, not with ${publicKey}`,
          },
        ]),
    ...rootSignatures(manifest),
  ]);
  stopAt(await changedFiles(pack, manifest, signal));
  const first = await registerOf(pack, "first", manifest);
  const last = await registerOf(pack, "last", manifest);
  signal?.throwIfAborted();
  stopAt([...first.failures, ...last.failures]);
  const moved = await movementsOf(pack, signal);
  stopAt(movementFailures(first.balances, last.balances, moved.changes));
  const { chainId, coinType, opening, trust } = manifest;
  const mark = (name) => ({
    checkpoint: BigInt(manifest[name].checkpoint),
    digest: manifest[name].digest,
    root: manifest.roots[name].root,
    total: BigInt(manifest.roots[name].total),
    rows: name === "first" ? first.rows : last.rows,
  });
  const count = Object.keys(manifest.files).length;
  return {
    chainId,
    coinType,
    opening,
    trust,
    publicKey: manifest.publicKey,
    first: mark("first"),
    last: mark("last"),
    movements: moved.count,
    checked: [
      publicKey === undefined
        ? "the manifest is signed with the key that it names itself; whose key that is, was not compared"
        : "the manifest is signed with the key given",
      "both registers' roots are signed with the same key",
      `${count} files have the SHA-256 and size of the manifest, and there is no other`,
      `the registers' ${first.rows} and ${last.rows} rows add up and give the signed roots`,
      `${moved.count} movements account for every change of every wallet between the two`,
    ],
    unchecked: UNCHECKED,
  };
};

const stopAt = (failures) => {
  if (failures.length === 0) return;
  const more = failures.length - LISTED;
  const listed = failures.slice(0, LISTED);
  throw new AuditPackError(more > 0 ? [...listed, { file: "and", what: `${more} more` }] : listed);
};

const fail = (file, what) => stopAt([{ file, what }]);

const sha256 = async (file) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())));

const signedManifest = async (pack) => {
  const file = pack.get(MANIFEST) ?? fail(MANIFEST, "is missing");
  if (file.size > LONGEST_MANIFEST) fail(MANIFEST, "is too long for a manifest");
  const text = await file.text();
  const manifest = parsed(MANIFEST, text);
  if (!isManifest(manifest)) fail(MANIFEST, "has not the form of an audit pack of version 1");
  // In its only form no member can be there twice, of which parsers would keep one or the other.
  if (canonicalOf(manifest) !== text)
    fail(MANIFEST, "is not in the form that is signed (RFC 8785)");
  const signature = /^\{"signature":"([^"]*)"\}\n$/.exec(await pack.get(SIGNATURE)?.text())?.[1];
  const signed = { purpose: "holderbook-audit-pack-v1", manifestSha256: await sha256(file) };
  if (!isSigned(signature, signed, manifest.publicKey)) {
    fail(SIGNATURE, `is no signature of ${MANIFEST} by the key that it names`);
  }
  return manifest;
};

const parsed = (file, text) => {
  try {
    return JSON.parse(text);
  } catch {
    return fail(file, "is not JSON");
  }
};

const canonicalOf = (value) => {
  try {
    return canonicalJson(value);
  } catch {
    return undefined;
  }
};

const isSigned = (signature, signed, publicKey) =>
  isBase64(64)(signature) && isSignatureOf(signature, canonicalJson(signed), publicKey);

const isText = (value) => typeof value === "string";
const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
/** Sums are hashed as 16 bytes. */
const isAmount = (value) =>
  isText(value) && /^(0|[1-9]\d{0,38})$/.test(value) && BigInt(value) < 2n ** 128n;
const isChange = (value) => isText(value) && /^(0|-?[1-9]\d{0,38})$/.test(value);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isMark = (value) => isObject(value) && isAmount(value.checkpoint) && isText(value.digest);
const isRoot = (value) => isObject(value) && isHash(value.root) && isAmount(value.total);

const isManifest = (value) =>
  isObject(value) &&
  value.format === "holderbook-audit-pack" &&
  value.version === 1 &&
  [value.chainId, value.coinType, value.opening].every(isText) &&
  isMark(value.first) &&
  isMark(value.last) &&
  isObject(value.trust) &&
  isObject(value.roots) &&
  isRoot(value.roots.first) &&
  isRoot(value.roots.last) &&
  isBase64(32)(value.publicKey) &&
  isObject(value.files) &&
  Object.values(value.files).every(
    (file) => isObject(file) && isHash(file.sha256) && isAmount(file.size),
  );

const rootSignatures = ({ chainId, coinType, publicKey, roots, ...marks }) =>
  ["first", "last"].flatMap((name) => {
    const { checkpoint, digest: checkpointDigest } = marks[name];
    const { root, total, signature } = roots[name];
    const signed = signedRoot({ chainId, coinType, checkpoint, checkpointDigest, root, total });
    return isSigned(signature, signed, publicKey)
      ? []
      : [{ file: MANIFEST, what: `the signature of the ${name} root does not fit the key` }];
  });

const changedFiles = async (pack, { files }, signal) => {
  const failures = [];
  const left = new Set(pack.keys());
  for (const path of [MANIFEST, SIGNATURE]) left.delete(path);
  for (const [path, { sha256: expected, size }] of Object.entries(files)) {
    signal?.throwIfAborted();
    const file = pack.get(path);
    left.delete(path);
    if (file === undefined) failures.push({ file: path, what: "is missing" });
    else if (String(file.size) !== size) {
      failures.push({ file: path, what: `has ${file.size} bytes, not ${size}` });
    } else if ((await sha256(file)) !== expected) {
      failures.push({ file: path, what: "was changed: its SHA-256 is another" });
    }
  }
  for (const path of left) failures.push({ file: path, what: "is no file of the manifest" });
  return failures;
};

const isRow = (row) =>
  isObject(row) &&
  (row.holderId === null || isAmount(row.holderId)) &&
  [row.balance, row.tokens, row.granted].every(isAmount) &&
  Array.isArray(row.wallets) &&
  row.wallets.every((one) => isObject(one) && isText(one.address) && isAmount(one.balance));

/** A register's balances by wallet, and whatever of it does not fit the manifest or itself. */
const registerOf = async (pack, name, manifest) => {
  const file = TABLES[name];
  const table = parsed(file, (await pack.get(file)?.text()) ?? fail(file, "is missing"));
  if (!isObject(table) || !Array.isArray(table.rows) || !table.rows.every(isRow)) {
    fail(file, "has not the form of a cap table");
  }
  const { coinType, checkpoint, rows } = table;
  const [mark, signed] = [manifest[name], manifest.roots[name]];
  if (coinType !== manifest.coinType || checkpoint !== mark.checkpoint) {
    fail(file, "is of another token or checkpoint than the manifest says");
  }
  const failures = [];
  const balances = new Map();
  for (const [at, row] of rows.entries()) {
    const held = row.wallets.reduce((sum, { balance }) => sum + BigInt(balance), 0n);
    const balance = BigInt(row.balance);
    if (held !== balance || BigInt(row.tokens) + BigInt(row.granted) !== balance) {
      failures.push({ file, what: `row ${at + 1} does not add up to its balance` });
    }
    for (const { address, balance: own } of row.wallets) {
      if (balances.has(address)) failures.push({ file, what: `${address} is there twice` });
      balances.set(address, BigInt(own));
    }
  }
  const { root, total } = await rootOf({ coinType, checkpoint, rows });
  if (root !== signed.root || String(total) !== signed.total) {
    failures.push({
      file,
      what: `gives the root ${root} of ${total}, not ${signed.root} of ${signed.total}`,
    });
  }
  return { failures, balances, rows: rows.length };
};

/** What all movements come to, by wallet; read line by line, for they may be many. */
const movementsOf = async (pack, signal) => {
  const changes = new Map();
  let count = 0;
  for await (const line of linesOf(pack.get(MOVEMENTS) ?? fail(MOVEMENTS, "is missing"))) {
    signal?.throwIfAborted();
    const moved = parsed(MOVEMENTS, line);
    count += 1;
    if (!isObject(moved) || !isText(moved.owner) || !isChange(moved.change)) {
      fail(MOVEMENTS, `line ${count} is no movement`);
    }
    changes.set(moved.owner, (changes.get(moved.owner) ?? 0n) + BigInt(moved.change));
  }
  return { changes, count };
};

async function* linesOf(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line !== "") yield line;
    if (done) return;
  }
}

const movementFailures = (first, last, changes) =>
  [...new Set([...first.keys(), ...last.keys(), ...changes.keys()])].flatMap((wallet) => {
    const [had, has] = [first.get(wallet) ?? 0n, last.get(wallet) ?? 0n];
    const change = changes.get(wallet) ?? 0n;
    return had + change === has
      ? []
      : [{ file: MOVEMENTS, what: `${wallet} held ${had}, moved ${change}, and holds ${has}` }];
  });
