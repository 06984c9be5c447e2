/** Audit packs that are edited as a dishonest operator would: everything hashed and signed anew. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.ts";
import { signedPack } from "../../client/pack-files.ts";
import type { PackManifest } from "../../client/verify-audit-pack.ts";
import { signedRoot } from "../../client/verify-statement.ts";
import { filesOf } from "../../src/evidence/pack/form.ts";
import { temporaryFolder } from "../service/process.ts";

type Key = ReturnType<typeof generateKeyPair>;

/** A pack's files as a browser has them. */
export type PackInMemory = Map<string, Uint8Array<ArrayBuffer>>;

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text));
const textOf = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();

const manifestIn = (pack: PackInMemory): PackManifest =>
  JSON.parse(textOf(pack.get("manifest.json")));

export const manifestOf = async (folder: string): Promise<PackManifest> =>
  manifestIn(await filesIn(folder));

/**
 * The same pack with a manifest of the files that are there now, signed with a key of one's own, as are both roots.
 * @param edit what the manifest says otherwise
 */
export const signedAnew = (
  pack: PackInMemory,
  edit: (manifest: PackManifest) => object = () => ({}),
  { publicKey, secretKey }: Key = generateKeyPair(),
  withRoots = true,
): PackInMemory => {
  const sign = (what: JsonValue) =>
    signBytes(Buffer.from(canonicalJson(what)), secretKeyOf(secretKey));
  const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const before = manifestIn(pack);
  const all: PackInMemory = new Map(pack);
  const report = textOf(pack.get("report.md"));
  const keyId = `dep_${hashOf(bytesOf(publicKey)).slice(0, 16)}`;
  if (report !== "") {
    const said = report.replaceAll(before.publicKey, () => publicKey);
    all.set("report.md", bytesOf(said.replaceAll(before.keyId, keyId)));
  }
  const files = Object.fromEntries(
    [...all]
      .filter(([path]) => path !== "manifest.json" && path !== "manifest.sig.json")
      .map(([path, bytes]) => [path, { sha256: hashOf(bytes), size: `${bytes.length}` }]),
  );
  const edited: PackManifest = {
    ...before,
    publicKey,
    keyId,
    files,
    ...edit({ ...before, files }),
  };
  const rootOf = (name: "first" | "last") => {
    const { chainId, coinType } = edited;
    const { checkpoint, digest: checkpointDigest } = edited[name];
    const { root, total, signature } = edited.roots[name];
    if (!withRoots) return { root, total, signature };
    const signed = signedRoot({ chainId, coinType, checkpoint, checkpointDigest, root, total });
    return { root, total, signature: sign(signed) };
  };
  const text = canonicalJson({
    ...edited,
    roots: { first: rootOf("first"), last: rootOf("last") },
  });
  const signature = sign(signedPack(hashOf(bytesOf(text)), before.version));
  all.set("manifest.json", bytesOf(text));
  all.set("manifest.sig.json", bytesOf(`${canonicalJson({ signature })}\n`));
  return all;
};

/** The same of a pack in a folder. */
export const signAnew = async (
  folder: string,
  ...how: Parameters<typeof signedAnew> extends [PackInMemory, ...infer Rest] ? Rest : never
): Promise<void> => {
  for (const [path, bytes] of signedAnew(await filesIn(folder), ...how)) {
    await writeFile(join(folder, path), bytes);
  }
};

/** Packs that were given out, which have to verify for ever: their reports are compared word for word. */
export const KEPT = ["v1-proven", "v1-signed", "v2-whole", "v3-whole"] as const;
type Kept = (typeof KEPT)[number];

export const filesOfKept = async (name: Kept): Promise<PackInMemory> => {
  const zip = join(import.meta.dirname, "..", "fixtures", `audit-pack-${name}.zip`);
  return new Map(
    Object.entries(unzipSync(await readFile(zip))).map(([path, bytes]) => [
      path,
      Uint8Array.from(bytes),
    ]),
  );
};

/** One in a folder. */
export const keptPack = async (name: Kept) => {
  const folder = await temporaryFolder();
  for (const [path, bytes] of await filesOfKept(name)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), bytes);
  }
  return folder;
};

/** A pack of version 1, as it was made and verified before version 2 was there. */
export const filesOfVersion1 = (opening: "proven" | "signed") => filesOfKept(`v1-${opening}`);

/** The same in a folder. */
export const packOfVersion1 = (opening: "proven" | "signed") => keptPack(`v1-${opening}`);

/** A pack's files as a browser has them. */
export const filesIn = async (folder: string): Promise<PackInMemory> =>
  new Map(
    await Promise.all(
      [...(await filesOf(folder)), "manifest.json", "manifest.sig.json"].map(
        async (file) => [file, new Uint8Array(await readFile(join(folder, file)))] as const,
      ),
    ),
  );

/** Changes a file's text. */
export const edited = async (
  folder: string,
  file: string,
  edit: (text: string) => string,
): Promise<void> => {
  const path = join(folder, file);
  const text = await readFile(path, "utf8");
  const changed = edit(text);
  if (changed === text) throw new Error(`nothing of ${file} was changed`);
  await writeFile(path, changed);
};
