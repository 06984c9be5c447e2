/** An edited archive, with every hash recomputed. */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { z } from "zod";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { placesAfter } from "../../src/archive/chain-places.ts";
import { decodeChunk, encodeChunk } from "../../src/archive/chunk.ts";
import { type Manifest, readManifest, writeManifest } from "../../src/archive/manifest.ts";
import { decodeRawChunk, encodeRawChunk } from "../../src/archive/raw-chunk.ts";
import { readChunks } from "../../src/archive/read-archive.ts";
import type { RawCheckpoint } from "../../src/ledger/decode/checkpoint.ts";
import type { AppendBatch, ReadFact } from "../../src/log/fact.ts";

export const manifestIn = async (archive: string): Promise<Manifest> => {
  const found = await readManifest(archive);
  if (found === null) throw new Error(`${archive} has no manifest`);
  return found.manifest;
};

/** All facts of an archive. */
export const factsIn = async (archive: string): Promise<readonly ReadFact[]> => {
  const { signal } = new AbortController();
  const facts: ReadFact[] = [];
  for await (const { batch } of readChunks(archive, await manifestIn(archive), { signal })) {
    facts.push(...batch.facts);
  }
  return facts;
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
    const decoded = decodeChunk(encoded);
    places = placesAfter(places, decoded);
    const sha256 = createHash("sha256").update(compressed).digest("hex");
    const facts = decoded.facts.length;
    files.push({ ...file, facts, bytes: compressed.length, sha256, after: places });
  }
  await writeManifest(dir, { ...manifest, files, ...more });
};

/** Puts other bytes in the place of the first chunk, and its size and hash into the manifest. */
export const replaced = async (
  dir: string,
  compressed: Uint8Array,
  more: Partial<Manifest["files"][number]> = {},
): Promise<void> => {
  const manifest = await manifestIn(dir);
  const [file, ...others] = manifest.files;
  if (file === undefined) throw new Error(`${dir} has no chunks`);
  await writeFile(join(dir, file.name), compressed);
  const sha256 = createHash("sha256").update(compressed).digest("hex");
  const edited = { ...file, bytes: compressed.length, sha256, ...more };
  await writeManifest(dir, { ...manifest, files: [edited, ...others] });
};

/** Replaces the manifest's text, and recomputes its root unless the content is not of its form. */
export const editedManifest = async (
  dir: string,
  change: (body: Record<string, JsonValue>) => Record<string, JsonValue>,
): Promise<void> => {
  const path = join(dir, "manifest.json");
  const { root: _, ...body } = z
    .record(z.string(), z.json())
    .parse(JSON.parse(await readFile(path, "utf8")));
  const edited = change(body);
  const root = createHash("sha256").update(canonicalJson(edited)).digest("hex");
  await writeFile(path, JSON.stringify({ ...edited, root }));
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
