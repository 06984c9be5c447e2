/** Reads the files of an audit pack, each bounded before it is read, and finds whether they are those that were signed. */
import { canonicalJson } from "./canonical-json.mjs";
import { fail, stopAt } from "./pack-error.mjs";
import {
  COMMITTEE,
  committeeFaults,
  LONGEST_FILE,
  MANIFEST,
  manifestFaults,
  SIGNATURE,
} from "./pack-forms.mjs";
import { hexOf, isBase64, isSignatureOf } from "./sum-tree.mjs";
import { signedRoot } from "./verify-statement.mjs";

/** What a manifest has beside its list of files, and the most that a file in the list takes. */
const MANIFEST_BYTES = 2 ** 17;
const BYTES_A_FILE = 200;
const SIGNATURE_BYTES = 200;

/** SHA-256 in hex; browsers have no way to hash a file piece by piece. */
export const sha256Of = async (file) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())));

/** Every byte counts: none may be replaced or left out on the way to text. */
const decoder = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a small file. */
export const textOf = async (pack, path, most, tier) => {
  const file = pack.get(path) ?? fail(path, "is missing", tier);
  if (file.size > most) fail(path, `has ${file.size} bytes, more than ${most}`, tier);
  try {
    return decoder().decode(await file.arrayBuffer());
  } catch {
    return fail(path, "is not UTF-8", tier);
  }
};

export const parsed = (path, text, place = "", tier = undefined) => {
  try {
    return JSON.parse(text);
  } catch {
    return fail(path, `${place}is not JSON`, tier);
  }
};

/** In its only form nothing can be there twice, of which parsers would keep one or the other. */
export const isCanonical = (value, text) => {
  try {
    return canonicalJson(value) === text;
  } catch {
    return false;
  }
};

/** Lines of a file, each ended by LF; none is longer than `most` characters. */
export async function* linesOf(pack, path, most) {
  const file = pack.get(path) ?? fail(path, "is missing");
  const reader = file.stream().getReader();
  const text = decoder();
  let rest = "";
  let count = 0;
  const decoded = (bytes) => {
    try {
      return text.decode(bytes, { stream: bytes !== undefined });
    } catch {
      return fail(path, "is not UTF-8");
    }
  };
  const bounded = (line) => {
    count += 1;
    if (line.length > most) {
      fail(path, `line ${count} has more than ${most} characters`);
    }
    return line;
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + decoded(value)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield bounded(line);
      if (rest.length > most) bounded(rest);
      if (!done) continue;
      if (rest !== "") fail(path, "does not end with a whole line");
      return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

export const isSigned = (signature, signed, publicKey) =>
  isBase64(64)(signature) && isSignatureOf(signature, canonicalJson(signed), publicKey);

/** What the deployment's key signs. */
export const signedPack = (manifestSha256, version = 1) => ({
  purpose: `holderbook-audit-pack-v${version}`,
  manifestSha256,
});

/** The manifest, of the known form, signed with the key that it names, and with the one that is known. */
export const signedManifest = async (pack, { publicKey, hash = sha256Of }) => {
  const file = pack.get(MANIFEST) ?? fail(MANIFEST, "is missing", "authentic");
  const text = await textOf(pack, MANIFEST, MANIFEST_BYTES + BYTES_A_FILE * pack.size, "authentic");
  const manifest = parsed(MANIFEST, text, "", "authentic");
  stopAt(
    manifestFaults(manifest).map((what) => ({ file: MANIFEST, what })),
    "authentic",
  );
  if (!isCanonical(manifest, text)) {
    fail(MANIFEST, "is not in the form that is signed (RFC 8785)", "authentic");
  }
  const wrapped = await textOf(pack, SIGNATURE, SIGNATURE_BYTES, "authentic");
  const signature = /^\{"signature":"([^"]*)"\}\n$/.exec(wrapped)?.[1];
  const signed = signedPack(await hash(file), manifest.version);
  if (!isSigned(signature, signed, manifest.publicKey)) {
    fail(
      SIGNATURE,
      `is no signature of ${MANIFEST} by the key that it names: one of the two was changed`,
      "authentic",
    );
  }
  if (publicKey !== undefined && publicKey !== manifest.publicKey) {
    const what = `is signed with the key ${manifest.publicKey}, not with ${publicKey}`;
    fail(MANIFEST, what, "authentic");
  }
  const id = `dep_${(await hash(new Blob([manifest.publicKey]))).slice(0, 16)}`;
  if (manifest.keyId !== id) {
    fail(MANIFEST, `names the key ${manifest.keyId}, but it is ${id}`, "authentic");
  }
  stopAt(rootSignatures(manifest), "authentic");
  return manifest;
};

const rootSignatures = ({ chainId, coinType, publicKey, roots, ...marks }) =>
  ["first", "last"].flatMap((name) => {
    const { checkpoint, digest: checkpointDigest } = marks[name];
    const { root, total, signature } = roots[name];
    const signed = signedRoot({ chainId, coinType, checkpoint, checkpointDigest, root, total });
    return isSigned(signature, signed, publicKey)
      ? []
      : [{ file: MANIFEST, what: `the signature of the ${name} root does not fit the key` }];
  });

/** Whether the files are those of the manifest: every one of them, unchanged, and no other. */
export const checkFiles = async (pack, { files }, { hash = sha256Of, signal, told }) => {
  const left = new Set(pack.keys());
  for (const path of [MANIFEST, SIGNATURE]) left.delete(path);
  const failures = [];
  const here = [];
  // All sizes come first: nothing is hashed of a pack that is no pack.
  for (const [path, { size }] of Object.entries(files)) {
    const file = pack.get(path);
    left.delete(path);
    if (file === undefined) failures.push({ file: path, what: "is missing" });
    else if (String(file.size) !== size) {
      failures.push({ file: path, what: `has ${file.size} bytes, not ${size}` });
    } else if (file.size > LONGEST_FILE(path)) {
      failures.push({ file: path, what: `has ${file.size} bytes, more than any file of its kind` });
    } else here.push([path, file]);
  }
  for (const path of left) failures.push({ file: path, what: "is no file of the manifest" });
  stopAt(failures, "authentic");
  for (const [at, [path, file]] of here.entries()) {
    signal?.throwIfAborted();
    if ((await hash(file)) !== files[path].sha256) {
      failures.push({ file: path, what: "was changed: its SHA-256 is another" });
    }
    told?.(at + 1, here.length);
  }
  stopAt(failures, "authentic");
};

/** Checks that the first committee is in canonical form, so that every reader sees the same validators. */
export const checkCommittee = async (pack) => {
  const text = await textOf(pack, COMMITTEE, LONGEST_FILE(COMMITTEE));
  const json = parsed(COMMITTEE, text);
  stopAt(committeeFaults(json).map((what) => ({ file: COMMITTEE, what })));
  if (`${JSON.stringify(json, null, 1)}\n` !== text) {
    fail(COMMITTEE, "is not as the committee of a pack is printed");
  }
};
