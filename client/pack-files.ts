/** Reads a pack's files, each bounded first, and checks them against the signed manifest. */
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import { isBase64, isFormed } from "./forms.ts";
import { AuditPackError, type Failure, fail, stopAt, type TierName } from "./pack-error.ts";
import {
  committeeFaults,
  FILES,
  LONGEST_FILE,
  manifestFaults,
  type PackManifest,
} from "./pack-forms.ts";
import { hexOf, isSignatureOf } from "./sum-tree.ts";
import { signedRoot } from "./verify-statement.ts";

/** A pack's files, by path below its folder. */
export type PackFiles = ReadonlyMap<string, Blob>;

/** SHA-256 as lower-case hex. */
export type Hash = (file: Blob) => Promise<string>;

/** Bounds of a manifest: its head, and each file in its list. */
const MANIFEST_BYTES = 2 ** 17;
const BYTES_PER_FILE = 200;
const SIGNATURE_BYTES = 200;

/** SHA-256 as hex; browsers cannot hash a stream. */
export const sha256Of: Hash = async (file) =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())));

/** Strict: replaces and drops nothing. */
const decoder = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws AuditPackError */
export const textOf = async (
  pack: PackFiles,
  path: string,
  most: number,
  tier?: TierName,
): Promise<string> => {
  const file = pack.get(path) ?? fail(path, "is missing", tier);
  if (file.size > most) fail(path, `has ${file.size} bytes, more than ${most}`, tier);
  try {
    return decoder().decode(await file.arrayBuffer());
  } catch {
    return fail(path, "is not UTF-8", tier);
  }
};

export const parsed = (path: string, text: string, place = "", tier?: TierName): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return fail(path, `${place}is not JSON`, tier);
  }
};

/** Rejects duplicate members, of which parsers keep one or the other. */
export const isCanonical = (value: unknown, text: string): boolean => {
  try {
    return canonicalJson(value as JsonValue) === text;
  } catch {
    return false;
  }
};

/** The lines of a file, each ended by LF, of at most `most` characters. @throws AuditPackError */
export async function* linesOf(
  pack: PackFiles,
  path: string,
  most: number,
): AsyncGenerator<string, void> {
  const file = pack.get(path) ?? fail(path, "is missing");
  const reader = file.stream().getReader();
  const text = decoder();
  let rest = "";
  let count = 0;
  const decoded = (bytes: Uint8Array<ArrayBuffer> | undefined) => {
    try {
      return text.decode(bytes, { stream: bytes !== undefined });
    } catch {
      return fail(path, "is not UTF-8");
    }
  };
  const bounded = (line: string) => {
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

/** Whether a key signed a text; all base64 except the text. */
export type IsSigned = typeof isSignatureOf;

/** The content that the deployment's key signs, as RFC 8785 JSON. */
export const signedPack = (
  manifestSha256: string,
  version = 1,
): { readonly purpose: string; readonly manifestSha256: string } => ({
  purpose: `holderbook-audit-pack-v${version}`,
  manifestSha256,
});

/**
 * The manifest, well-formed and signed with the key it names, which must be the known one if given.
 */
export const signedManifest = async (
  pack: PackFiles,
  {
    publicKey,
    hash,
    isSigned = isSignatureOf,
  }: {
    readonly publicKey: string | undefined;
    readonly hash: Hash;
    readonly isSigned?: IsSigned | undefined;
  },
): Promise<PackManifest> => {
  const fits = (signature: string | undefined, signed: JsonValue, key: string) =>
    isBase64(64)(signature) && isSigned(signature, canonicalJson(signed), key);
  const file = pack.get(FILES.manifest) ?? fail(FILES.manifest, "is missing", "authentic");
  const text = await textOf(
    pack,
    FILES.manifest,
    MANIFEST_BYTES + BYTES_PER_FILE * pack.size,
    "authentic",
  );
  const manifest = parsed(FILES.manifest, text, "", "authentic");
  const faults = manifestFaults(manifest);
  if (!isFormed<PackManifest>(manifest, faults)) {
    const failures = faults.map((what) => ({ file: FILES.manifest, what }));
    throw new AuditPackError(failures, "authentic");
  }
  if (!isCanonical(manifest, text)) {
    fail(FILES.manifest, "is not in the form that is signed (RFC 8785)", "authentic");
  }
  const wrapped = await textOf(pack, FILES.signature, SIGNATURE_BYTES, "authentic");
  const signature = /^\{"signature":"([^"]*)"\}\n$/.exec(wrapped)?.[1];
  const signed = signedPack(await hash(file), manifest.version);
  if (!fits(signature, signed, manifest.publicKey)) {
    fail(
      FILES.signature,
      `is no signature of ${FILES.manifest} by the key that it names: one of the two was changed`,
      "authentic",
    );
  }
  if (publicKey !== undefined && publicKey !== manifest.publicKey) {
    const what = `is signed with the key ${manifest.publicKey}, not with ${publicKey}`;
    fail(FILES.manifest, what, "authentic");
  }
  const id = `dep_${(await hash(new Blob([manifest.publicKey]))).slice(0, 16)}`;
  if (manifest.keyId !== id) {
    fail(FILES.manifest, `names the key ${manifest.keyId}, but it is ${id}`, "authentic");
  }
  stopAt(rootSignatures(manifest, fits), "authentic");
  return manifest;
};

const rootSignatures = (
  { chainId, coinType, publicKey, roots, ...marks }: PackManifest,
  fits: (signature: string, signed: JsonValue, key: string) => boolean,
) =>
  (["first", "last"] as const).flatMap((name): Failure[] => {
    const { checkpoint, digest: checkpointDigest } = marks[name];
    const { root, total, signature } = roots[name];
    const signed = signedRoot({ chainId, coinType, checkpoint, checkpointDigest, root, total });
    return fits(signature, signed, publicKey)
      ? []
      : [{ file: FILES.manifest, what: `the signature of the ${name} root does not fit the key` }];
  });

/**
 * Stops unless the files are exactly those of the manifest, unchanged.
 * @param told receives the number of files hashed, and of all
 */
export const checkFiles = async (
  pack: PackFiles,
  { files }: PackManifest,
  {
    hash,
    signal,
    told,
  }: {
    readonly hash: Hash;
    readonly signal?: AbortSignal | undefined;
    readonly told?: ((done: number, of: number) => void) | undefined;
  },
): Promise<void> => {
  const left = new Set(pack.keys());
  for (const path of [FILES.manifest, FILES.signature]) left.delete(path);
  const failures: Failure[] = [];
  const here: { readonly path: string; readonly sha256: string; readonly file: Blob }[] = [];
  // Compare all sizes first, so that a wrong folder is not hashed.
  for (const [path, { size, sha256 }] of Object.entries(files)) {
    const file = pack.get(path);
    left.delete(path);
    if (file === undefined) failures.push({ file: path, what: "is missing" });
    else if (String(file.size) !== size) {
      failures.push({ file: path, what: `has ${file.size} bytes, not ${size}` });
    } else if (file.size > LONGEST_FILE(path)) {
      failures.push({ file: path, what: `has ${file.size} bytes, more than any file of its kind` });
    } else here.push({ path, sha256, file });
  }
  for (const path of left) failures.push({ file: path, what: "is no file of the manifest" });
  stopAt(failures, "authentic");
  for (const [at, { path, sha256, file }] of here.entries()) {
    signal?.throwIfAborted();
    if ((await hash(file)) !== sha256) {
      failures.push({ file: path, what: "was changed: its SHA-256 is another" });
    }
    told?.(at + 1, here.length);
  }
  stopAt(failures, "authentic");
};

/** Stops unless the first committee is canonical, so that every reader sees the same validators. */
export const checkCommittee = async (pack: PackFiles): Promise<void> => {
  const text = await textOf(pack, FILES.committee, LONGEST_FILE(FILES.committee));
  const json = parsed(FILES.committee, text);
  stopAt(committeeFaults(json).map((what) => ({ file: FILES.committee, what })));
  if (`${JSON.stringify(json, null, 1)}\n` !== text) {
    fail(FILES.committee, "is not as the committee of a pack is printed");
  }
};
