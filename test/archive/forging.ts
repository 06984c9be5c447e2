/** An archive told otherwise, with every hash made anew. */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { placesAfter } from "../../src/archive/chain-places.ts";
import { decodeChunk, encodeChunk } from "../../src/archive/chunk.ts";
import { type Manifest, readManifest, writeManifest } from "../../src/archive/manifest.ts";
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
