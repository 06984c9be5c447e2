/** An audit pack's files on this machine, and its manifest. */

import { createHash } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { lstat, opendir, readdir } from "node:fs/promises";
import { join, sep } from "node:path";
import type { PackFiles } from "../../../client/pack-files.ts";
import { FILES } from "../../../client/pack-forms.ts";
import {
  AuditPackError,
  type PackFile,
  type PackManifest,
  type PackMark,
  type TierName,
} from "../../../client/verify-audit-pack.ts";
import type { CheckpointMark } from "../../log/fact.ts";

export { FILES } from "../../../client/pack-forms.ts";
export { AuditPackError } from "../../../client/verify-audit-pack.ts";

export const CHECKPOINTS = "checkpoints";
export const EPOCHS = "epochs";
/** Checkpoints beyond the last register, which found its objects unchanged. */
export const LATER = "later";
export { OBJECTS, proofFile } from "../../../client/pack-heads.ts";

export const excerptFile = (
  folder: typeof CHECKPOINTS | typeof EPOCHS | typeof LATER,
  sequence: bigint | string,
): string => `${folder}/${sequence}.binpb`;

/** Something in a pack does not hold. Do not rely on the pack. */
export const packError = (file: string, what: string, tier?: TierName): AuditPackError =>
  new AuditPackError([{ file, what }], tier);

/** A manifest before the files are hashed. */
export type PackHead = Omit<PackManifest, "files">;

/** A register's checkpoint. */
export const markIn = ({ checkpoint, digest, timestampMs }: PackMark): CheckpointMark => ({
  sequence: BigInt(checkpoint),
  digest,
  timestampMs: BigInt(timestampMs),
});

/** Limit of a pack; a checkpoint has at most three. */
const MOST_FILES = 1_000_000;

/** Least bytes of a file's manifest entry. */
const MIN_BYTES_PER_ENTRY = 100;
/** Limit of unlisted files that are named. */
const MAX_NAMED = 200;

/**
 * A folder's files, unread. Accepts only files and folders: a link or device could lead anywhere or
 * never end.
 * @throws AuditPackError (stop)
 */
export const openFiles = async (folder: string, most = MOST_FILES): Promise<PackFiles> => {
  const files = new Map<string, Blob>();
  const open = async (below: string): Promise<void> => {
    for await (const { name } of await opendir(join(folder, below))) {
      const path = `${below}${name}`;
      const found = await lstat(join(folder, path));
      if (found.isDirectory() && below === "") await open(`${name}/`);
      else if (found.isFile()) files.set(path, await openAsBlob(join(folder, path)));
      else throw packError(path, "is neither a file nor a folder of a pack");
      if (files.size > most) {
        const what = `lists fewer files than the folder has, which are more than ${most}`;
        throw packError(FILES.manifest, what, "authentic");
      }
    }
  };
  await open("");
  return files;
};

/** Opening is slow: open no more files than the manifest can list. */
export const openPack = async (folder: string): Promise<PackFiles> => {
  const manifest = await lstat(join(folder, FILES.manifest)).catch(() => null);
  if (manifest === null) throw packError(FILES.manifest, "is missing", "authentic");
  const listed = Math.floor(manifest.size / MIN_BYTES_PER_ENTRY) + MAX_NAMED;
  return openFiles(folder, Math.min(MOST_FILES, listed));
};

/** Hash and length of what is read; a pipe has no size beforehand. */
const hashedChunks = async (chunks: AsyncIterable<Uint8Array>): Promise<PackFile> => {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha256: hash.digest("hex"), size: `${size}` };
};

/** SHA-256 of a file, streamed. */
export const hashOf = async (file: Blob): Promise<string> =>
  (await hashedChunks(file.stream())).sha256;

export const hashed = (path: string): Promise<PackFile> => hashedChunks(createReadStream(path));

/** A pack's files except manifest and signature, as `/` paths, ascending. */
export const filesOf = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) =>
      join(parentPath, name).slice(join(folder, "/").length).replaceAll(sep, "/"),
    )
    .filter((file) => file !== FILES.manifest && file !== FILES.signature)
    .sort();
};
