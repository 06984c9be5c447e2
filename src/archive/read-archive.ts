/** Reads an archive's chunks, each only after its hash and its place in the chains were checked. */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CheckpointFileError, decompressCheckpoint } from "../ledger/sources/chk-file.ts";
import type { AppendBatch } from "../log/fact.ts";
import { type ChainPlaces, placesAfter } from "./chain-places.ts";
import { ChunkFormError, decodeChunk } from "./chunk.ts";
import { ArchiveDamagedError, type ArchiveFile, type Manifest } from "./manifest.ts";

/** Of a chunk after decompression; one checkpoint may exceed the limits of a chunk. */
const MOST_BYTES = 512 * 1024 * 1024;

type ReadOptions = {
  /** First checkpoint to read; its whole chunk is. */
  readonly from?: bigint;
  readonly signal: AbortSignal;
  readonly onLink?: (checkpoint: bigint, hash: string) => void;
};

/**
 * Chunks in order.
 * @throws ArchiveDamagedError (stop) naming the file
 */
export async function* readChunks(
  folder: string,
  manifest: Manifest,
  { from = manifest.first, signal, onLink }: ReadOptions,
): AsyncGenerator<{ readonly file: ArchiveFile; readonly batch: AppendBatch }> {
  let before: ChainPlaces = manifest.before;
  for (const file of manifest.files) {
    if (file.last >= from) {
      signal.throwIfAborted();
      yield { file, batch: await readChunk(folder, file, before, onLink) };
    }
    before = file.after;
  }
}

const readChunk = async (
  folder: string,
  file: ArchiveFile,
  before: ChainPlaces,
  onLink: ReadOptions["onLink"],
): Promise<AppendBatch> => {
  const path = join(folder, file.name);
  const batch = await decodedIn(path, await wholeFile(path, file), decodeChunk);
  const { first, last, facts } = batch;
  if (first !== file.first || last.sequence !== file.last || facts.length !== file.facts) {
    throw new ArchiveDamagedError(
      path,
      `it has ${facts.length} facts of checkpoints ${first} to ${last.sequence}, but the manifest ${file.facts} of ${file.first} to ${file.last}`,
    );
  }
  const after = placesAfter(before, batch, onLink);
  for (const chain of ["facts", "blocks", "inputs"] as const) {
    if (after[chain] === file.after[chain]) continue;
    throw new ArchiveDamagedError(
      path,
      `its chain of ${chain} leads to ${after[chain]}, but the manifest has ${file.after[chain]}: one of them was forged`,
      { advice: "do not use this archive; export it again from the log" },
    );
  }
  return batch;
};

const COPY_AGAIN = {
  advice: "copy this file again from where the archive is whole, or export it again",
};

/** A file's bytes, of the size and hash that the manifest has. @throws ArchiveDamagedError (stop) */
export const wholeFile = async (
  path: string,
  { bytes, sha256 }: Pick<ArchiveFile, "bytes" | "sha256">,
): Promise<Uint8Array> => {
  try {
    const { size } = await stat(path);
    if (size !== bytes) {
      throw new ArchiveDamagedError(
        path,
        `it has ${size} bytes, but the manifest ${bytes}`,
        COPY_AGAIN,
      );
    }
    const content = await readFile(path);
    const own = createHash("sha256").update(content).digest("hex");
    if (own === sha256) return content;
    throw new ArchiveDamagedError(
      path,
      `its SHA-256 is ${own}, but the manifest has ${sha256}: it was edited or damaged`,
      COPY_AGAIN,
    );
  } catch (cause) {
    if (cause instanceof ArchiveDamagedError) throw cause;
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new ArchiveDamagedError(path, `it cannot be read: ${what}`, { cause });
  }
};

/** Decompresses and decodes. @throws ArchiveDamagedError (stop) */
export const decodedIn = async <Content>(
  path: string,
  compressed: Uint8Array,
  decode: (encoded: Uint8Array) => Content,
): Promise<Content> => {
  try {
    return decode(await decompressCheckpoint(path, compressed, MOST_BYTES));
  } catch (cause) {
    if (cause instanceof ChunkFormError || cause instanceof CheckpointFileError) {
      throw new ArchiveDamagedError(path, cause.message.replace(`${path}: `, ""), { cause });
    }
    throw cause;
  }
};
