/** An archive told otherwise, with every hash made anew. */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { placesAfter } from "../../src/archive/chain-places.ts";
import { decodeChunk, encodeChunk } from "../../src/archive/chunk.ts";
import { type Manifest, readManifest, writeManifest } from "../../src/archive/manifest.ts";
import { decodeRawChunk, encodeRawChunk } from "../../src/archive/raw-chunk.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import type { AppendBatch } from "../../src/log/fact.ts";

export const manifestIn = async (archive: string): Promise<Manifest> => {
  const found = await readManifest(archive);
  if (found === null) throw new Error(`${archive} has no manifest`);
  return found.manifest;
};

/** Rewrites the first chunk, and every hash and chain that depends on it. */
export const forged = async (
  dir: string,
  change: (batch: AppendBatch) => AppendBatch,
  more: Partial<Manifest> = {},
): Promise<void> => {
  const manifest = await manifestIn(dir);
  let places = manifest.before;
  const files = [];
  for (const [n, file] of manifest.files.entries()) {
    const path = join(dir, file.name);
    const batch = decodeChunk(zstdDecompressSync(await readFile(path)));
    const encoded = encodeChunk(n === 0 ? change(batch) : batch);
    const compressed = zstdCompressSync(encoded);
    await writeFile(path, compressed);
    places = placesAfter(places, decodeChunk(encoded));
    const sha256 = createHash("sha256").update(compressed).digest("hex");
    files.push({ ...file, bytes: compressed.length, sha256, after: places });
  }
  await writeManifest(dir, { ...manifest, files, ...more });
};

/** Rewrites the first file of raw checkpoints and its place in the manifest. */
export const forgedRaw = async (
  dir: string,
  change: (checkpoints: readonly RawCheckpoint[]) => readonly RawCheckpoint[],
): Promise<void> => {
  const manifest = await manifestIn(dir);
  const [file, ...others] = manifest.raw?.files ?? [];
  if (file === undefined || manifest.raw === null) throw new Error(`${dir} has no raw checkpoints`);
  const checkpoints = change(
    decodeRawChunk(zstdDecompressSync(await readFile(join(dir, file.name)))),
  );
  const compressed = zstdCompressSync(encodeRawChunk(checkpoints));
  await writeFile(join(dir, file.name), compressed);
  const edited = {
    ...{ name: file.name, first: checkpoints[0]?.sequence ?? 0n },
    ...{ last: checkpoints.at(-1)?.sequence ?? 0n, checkpoints: checkpoints.length },
    ...{ bytes: compressed.length, sha256: createHash("sha256").update(compressed).digest("hex") },
  };
  await writeManifest(dir, { ...manifest, raw: { ...manifest.raw, files: [edited, ...others] } });
};
