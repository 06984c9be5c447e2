/**
 * `manifest.json` of an archive: which chunks it has, their hashes, and the newest signed head of
 * the log (docs/reference/formats.md).
 *
 * `root` is the SHA-256 of the rest as canonical JSON (RFC 8785). Who knows it from elsewhere knows
 * every byte of the archive.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "../../client/canonical-json.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { writeDurably } from "./folder.ts";

/** The folder holds no archive of this version, or a damaged one. Nothing was changed. */
export class ArchiveDamagedError extends Error {
  override readonly name = "ArchiveDamagedError";
  readonly remedy: Remedy = "stop";

  constructor(
    file: string,
    what: string,
    {
      advice = "copy the archive again, or export it again",
      ...options
    }: ErrorOptions & { advice?: string } = {},
  ) {
    super(`${file}: ${what}; ${advice}`, options);
  }
}

const FORMAT = "holderbook-archive-v1";
const NAME = "manifest.json";

/** Of 100 million facts it has two or three. */
const MOST_BYTES = 64 * 1024 * 1024;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const counter = z
  .string()
  .regex(/^(0|[1-9]\d{0,18})$/)
  .transform(BigInt);

const place = z.strictObject({ facts: hash, blocks: hash, inputs: hash });

const fileForm = z.strictObject({
  name: z.string().regex(/^log-\d{20}\.binpb\.zst$/),
  first: counter,
  last: counter,
  facts: z.int().nonnegative(),
  /** Of the file. */
  bytes: z.int().positive(),
  sha256: hash,
  /** Chains after the chunk. */
  after: place,
});

const headForm = z.strictObject({
  checkpoint: counter,
  hash,
  signature: z.string(),
  keyId: z.string(),
  publicKey: z.string(),
});

const rawFileForm = z.strictObject({
  name: z.string().regex(/^raw-\d{20}\.binpb\.zst$/),
  first: counter,
  last: counter,
  checkpoints: z.int().positive(),
  bytes: z.int().positive(),
  sha256: hash,
});

const rawForm = z.strictObject({
  /** Checkpoints with facts, new packages or the end of an epoch; or all. */
  keeps: z.enum(["facts", "all"]),
  /** Raw checkpoints before this one are kept. */
  next: counter,
  files: z.array(rawFileForm),
});

const manifestForm = z.strictObject({
  format: z.literal(FORMAT),
  chainId: z.string().nullable(),
  /** Of the contract, original first, before the first checkpoint. */
  packages: z.array(z.string()).min(1),
  first: counter,
  /** Chains before the first chunk. */
  before: place,
  files: z.array(fileForm),
  raw: rawForm.nullable(),
  /** The newest head that the log's deployment signed up to the archive's end. */
  head: headForm.nullable(),
  /** Decimals that the network gave, which no fact has. */
  decimals: z.array(z.strictObject({ coinType: z.string(), decimals: z.int().min(0).max(255) })),
});

export type Manifest = z.infer<typeof manifestForm>;
export type ArchiveFile = Manifest["files"][number];
export type RawKept = NonNullable<Manifest["raw"]>;
export type RawFile = RawKept["files"][number];
export type ArchiveHead = NonNullable<Manifest["head"]>;

/** Counts of an archive, or of what a run added; bytes are those of the files. */
export type ArchiveSize = {
  readonly files: number;
  readonly facts: number;
  readonly bytes: number;
};

export const sizeOf = (files: readonly ArchiveFile[]): ArchiveSize => ({
  files: files.length,
  facts: files.reduce((sum, file) => sum + file.facts, 0),
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
});

/** Counts of raw checkpoints; bytes are those of the files. */
export type RawSize = {
  readonly files: number;
  readonly checkpoints: number;
  readonly bytes: number;
};

export const rawSizeOf = (files: readonly RawFile[]): RawSize => ({
  files: files.length,
  checkpoints: files.reduce((sum, file) => sum + file.checkpoints, 0),
  bytes: files.reduce((sum, file) => sum + file.bytes, 0),
});

const rooted = z.looseObject({ root: hash });

export const manifestPath = (folder: string) => join(folder, NAME);

/** A chunk's file name, by its first checkpoint. */
export const fileName = (first: bigint): string =>
  `log-${first.toString().padStart(20, "0")}.binpb.zst`;

/** The same of raw checkpoints. */
export const rawFileName = (first: bigint): string =>
  `raw-${first.toString().padStart(20, "0")}.binpb.zst`;

/** The next checkpoint after the archive's end. */
export const nextOf = ({ files, first }: Pick<Manifest, "files" | "first">): bigint =>
  (files.at(-1)?.last ?? first - 1n) + 1n;

const asJson = (manifest: Omit<Manifest, "format">) =>
  z
    .record(z.string(), z.json())
    .parse(
      JSON.parse(
        JSON.stringify({ format: FORMAT, ...manifest }, (_, member: unknown) =>
          typeof member === "bigint" ? member.toString() : member,
        ),
      ),
    );

const rootOf = (body: Record<string, z.core.util.JSONType>): string =>
  createHash("sha256").update(canonicalJson(body)).digest("hex");

/** Replaces the manifest, and returns its root. What it lists has to be on disk before. */
export const writeManifest = async (
  folder: string,
  manifest: Omit<Manifest, "format">,
): Promise<string> => {
  const body = asJson(manifest);
  const root = rootOf(body);
  await writeDurably(manifestPath(folder), `${JSON.stringify({ ...body, root }, null, 1)}\n`);
  return root;
};

/**
 * Null when there is none.
 * @throws ArchiveDamagedError (stop)
 */
export const readManifest = async (
  folder: string,
): Promise<{ readonly manifest: Manifest; readonly root: string } | null> => {
  const path = manifestPath(folder);
  const size = await stat(path).then(
    (found) => found.size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );
  if (size === null) return null;
  if (size > MOST_BYTES)
    throw new ArchiveDamagedError(path, `it has ${size} bytes, at most ${MOST_BYTES}`);
  const { root, ...body } = jsonIn(path, await readFile(path, "utf8"));
  const found = manifestForm.safeParse(body);
  if (!found.success) {
    const why = z.prettifyError(found.error).replaceAll("\n", " ");
    throw new ArchiveDamagedError(path, `it is not a manifest of ${FORMAT}: ${why}`);
  }
  const own = rootOf(asJson(found.data));
  if (own !== root) {
    throw new ArchiveDamagedError(
      path,
      `its root is ${root}, but its content has ${own}: it was edited or damaged`,
    );
  }
  checkOrder(path, found.data);
  return { manifest: found.data, root };
};

const jsonIn = (path: string, content: string): z.infer<typeof rooted> => {
  try {
    return rooted.parse(JSON.parse(content));
  } catch (cause) {
    throw new ArchiveDamagedError(path, "it is not JSON with a root", { cause });
  }
};

const checkOrder = (path: string, manifest: Manifest): void => {
  const { files, first, raw } = manifest;
  const misplaced = (
    { name, ...file }: Pick<ArchiveFile, "name" | "first" | "last">,
    due: bigint,
  ) =>
    new ArchiveDamagedError(
      path,
      `${name} is listed with checkpoints ${file.first} to ${file.last} where ${due} is due`,
    );
  let next = first;
  for (const file of files) {
    const isRight = file.first === next && file.last >= file.first;
    if (!isRight || file.name !== fileName(file.first)) throw misplaced(file, next);
    next = file.last + 1n;
  }
  if (raw === null) return;
  let due = first;
  for (const file of raw.files) {
    const isRight = file.first >= due && file.last >= file.first && file.last < raw.next;
    if (!isRight || file.name !== rawFileName(file.first)) throw misplaced(file, due);
    due = file.last + 1n;
  }
  if (raw.next >= first && raw.next <= nextOf(manifest)) return;
  throw new ArchiveDamagedError(
    path,
    `raw checkpoints are listed up to ${raw.next}, which it lacks`,
  );
};
