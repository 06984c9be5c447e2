/** `manifest.json` of a Parquet export: what was asked for, and which files are finished. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Remedy } from "../../waiting/remedy.ts";
import { makeFolder, writeDurably } from "../folder.ts";
import { manifestPath } from "../manifest.ts";

/** The folder holds something else than this export. Nothing was written; name another folder. */
export class ParquetFolderError extends Error {
  override readonly name = "ParquetFolderError";
  readonly remedy: Remedy = "stop";

  constructor(folder: string, what: string, options?: ErrorOptions) {
    super(`${folder}: ${what}; export to another folder`, options);
  }
}

export const FORMAT = "holderbook-parquet-v1";

const checkpoint = z
  .string()
  .regex(/^(0|[1-9]\d{0,18})$/)
  .transform(BigInt);

const heldForm = z.strictObject({
  coinType: z.string(),
  pipeline: z.string(),
  from: checkpoint,
  reason: z.string(),
});

const fileForm = z.strictObject({
  name: z.string().regex(/^[a-z]+(-\d{4,})?\.parquet$/),
  rows: z.int().nonnegative(),
  bytes: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Last checkpoint of a part of the facts. */
  through: checkpoint.optional(),
  /** Coins that were left out because a pipeline held them. */
  held: z.array(heldForm),
});

const exportForm = z.strictObject({
  format: z.literal(FORMAT),
  chainId: z.string().nullable(),
  /** Checkpoints of facts and movements. */
  first: checkpoint,
  last: checkpoint,
  /** Checkpoint of the register. */
  at: checkpoint,
  /** Of the log's chain of facts, through `last`. */
  logHash: z.string().regex(/^[0-9a-f]{64}$/),
  isComplete: z.boolean(),
  files: z.array(fileForm),
});

export type ParquetExport = z.infer<typeof exportForm>;
export type FinishedFile = ParquetExport["files"][number];
export type LeftOut = z.infer<typeof heldForm>;

/** Bigints as decimal strings. */
export const asJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_, member: unknown) => (typeof member === "bigint" ? member.toString() : member),
    indent,
  );

/** What it lists has to be on disk before. */
export const writeExport = (folder: string, made: ParquetExport): Promise<void> =>
  writeDurably(manifestPath(folder), `${asJson(made, 1)}\n`);

const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Creates the folder, or reads what an earlier run began; null for an empty one.
 * @throws ArchiveWriteError, ParquetFolderError (stop)
 */
export const openExport = async (folder: string): Promise<ParquetExport | null> => {
  await makeFolder(folder);
  const path = manifestPath(folder);
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (content === null) {
    const [found] = await readdir(folder);
    if (found === undefined) return null;
    throw new ParquetFolderError(folder, `it has ${found}, but no manifest.json of an export`);
  }
  const read = exportForm.safeParse(jsonIn(folder, content));
  if (read.success) return read.data;
  const why = z.prettifyError(read.error).replaceAll("\n", " ");
  throw new ParquetFolderError(folder, `its manifest.json is not one of ${FORMAT}: ${why}`);
};

const jsonIn = (folder: string, content: Buffer): unknown => {
  try {
    if (content.length > MOST_BYTES) throw new RangeError(`it has ${content.length} bytes`);
    return JSON.parse(content.toString());
  } catch (cause) {
    throw new ParquetFolderError(folder, "its manifest.json is not JSON", { cause });
  }
};

/** Whether a finished file is still as it was written. */
export const isWhole = async (folder: string, { name, sha256 }: FinishedFile): Promise<boolean> => {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(join(folder, name))) hash.update(piece);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
  return hash.digest("hex") === sha256;
};
