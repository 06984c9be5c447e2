/** An audit pack's files on this machine, and its manifest. */

import { createHash } from "node:crypto";
import { createReadStream, openAsBlob } from "node:fs";
import { lstat, opendir, readdir } from "node:fs/promises";
import { join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { PackFiles } from "../../../client/pack-files.ts";
import {
  AuditPackError,
  type PackFile,
  type PackManifest,
  type PackMark,
  type PackRoot,
  type TierName,
} from "../../../client/verify-audit-pack.ts";

export { AuditPackError } from "../../../client/verify-audit-pack.ts";

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
  acts: "acts.ndjson",
} as const;

export const CHECKPOINTS = "checkpoints";
export const EPOCHS = "epochs";

export const excerptFile = (folder: typeof CHECKPOINTS | typeof EPOCHS, sequence: bigint): string =>
  `${folder}/${sequence}.binpb`;

/** Something in a pack does not hold. Do not rely on the pack. */
export const packError = (file: string, what: string, tier?: TierName): AuditPackError =>
  new AuditPackError([{ file, what }], tier);

/** Converts members that JSON stores as texts. */
type Exact<T, Names extends keyof T> = {
  readonly [Name in keyof T]: Name extends Names ? bigint : T[Name];
};

type Mark = Exact<PackMark, "checkpoint" | "timestampMs">;
type Root = Exact<PackRoot, "total">;
type File = Exact<PackFile, "size">;

export type Manifest = Omit<
  PackManifest,
  "first" | "last" | "trust" | "roots" | "holderNames" | "files"
> & {
  readonly first: Mark;
  readonly last: Mark;
  /**
   * The committee that all signatures follow from; `checkpoint` ended the previous epoch and names
   * it.
   */
  readonly trust: {
    readonly epoch: bigint;
    readonly checkpoint: bigint | null;
    readonly digest: string | null;
  };
  readonly roots: { readonly first: Root; readonly last: Root };
  readonly holderNames: File | null;
  /** Every file except the manifest and its signature. */
  readonly files: Readonly<Record<string, File>>;
};

export type PackHead = Omit<Manifest, "files">;

const markIn = ({ checkpoint, digest, timestampMs }: PackMark): Mark => ({
  checkpoint: BigInt(checkpoint),
  digest,
  timestampMs: BigInt(timestampMs),
});

const rootIn = ({ total, ...rest }: PackRoot): Root => ({ ...rest, total: BigInt(total) });

const fileIn = ({ sha256, size }: PackFile): File => ({ sha256, size: BigInt(size) });

export const manifestIn = (json: PackManifest): Manifest => {
  const { first, last, trust, roots, holderNames, files } = json;
  const { epoch, checkpoint, digest } = trust;
  return {
    ...json,
    first: markIn(first),
    last: markIn(last),
    trust: {
      epoch: BigInt(epoch),
      checkpoint: checkpoint === null ? null : BigInt(checkpoint),
      digest,
    },
    roots: { first: rootIn(roots.first), last: rootIn(roots.last) },
    holderNames: holderNames === null ? null : fileIn(holderNames),
    files: Object.fromEntries(Object.entries(files).map(([path, file]) => [path, fileIn(file)])),
  };
};

/** Limit of a pack; a checkpoint has at most two. */
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

/** SHA-256 of a file, streamed. */
export const hashOf = async (file: Blob): Promise<string> => {
  const hash = createHash("sha256");
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest("hex");
};

export const hashed = async (path: string): Promise<Manifest["files"][string]> => {
  const hash = createHash("sha256");
  let size = 0n;
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += BigInt(chunk.length);
    }
  });
  return { sha256: hash.digest("hex"), size };
};

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

/** RFC 8785, with whole numbers as texts. */
export const manifestText = (manifest: Manifest): string =>
  canonicalJson(
    JSON.parse(
      JSON.stringify(manifest, (_name, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value,
      ),
    ),
  );
