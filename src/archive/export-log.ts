/**
 * Writes the log to a folder as an archive, or appends to one.
 *
 * A chunk counts once the manifest lists it. After a kill the next run begins with the chunk after
 * the listed ones and writes over what was left.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import type { Database, Sql } from "../database/connect.ts";
import { storedBlockHashes } from "../log/block-chain.ts";
import { LogChangedError } from "../log/chain.ts";
import { inputEnd, inputStretches } from "../log/input-chain.ts";
import { readBatches } from "../log/read-batches.ts";
import { type ChainPlaces, placesAfter } from "./chain-places.ts";
import { encodeChunk } from "./chunk.ts";
import { beginning, checkContinues, hashBefore, hexOf, lastOf } from "./continue-archive.ts";
import { makeFolder, removeUnlisted, writeDurably } from "./folder.ts";
import {
  type ArchiveHead,
  type ArchiveSize,
  fileName,
  nextOf,
  readManifest,
  sizeOf,
  writeManifest,
} from "./manifest.ts";

export type ExportOptions = {
  readonly folder: string;
  /** First checkpoint of a new archive; the log's by default. */
  readonly from?: bigint | undefined;
  /** Last checkpoint; the log's newest by default. */
  readonly to?: bigint | undefined;
  readonly limits?: ChunkLimits;
  /** How often to rewrite the manifest, ms: a long one costs more than a chunk. */
  readonly listEveryMs?: number;
  readonly signal: AbortSignal;
  /** @param bytes written so far */
  readonly onProgress?: (next: bigint, of: bigint, bytes: number) => void;
};

/** Of a chunk; a single checkpoint may exceed them. Memory is several times `maxBytes`. */
type ChunkLimits = {
  readonly maxFacts: number;
  readonly maxBytes: number;
  readonly maxCheckpoints: number;
};

const LIMITS: ChunkLimits = {
  maxFacts: 20_000,
  maxBytes: 32 * 1024 * 1024,
  maxCheckpoints: 65_536,
};

export type Exported = {
  readonly root: string;
  readonly first: bigint;
  readonly last: bigint;
  /** By this run. */
  readonly added: ArchiveSize;
  readonly whole: ArchiveSize;
};

export const LIST_EVERY_MS = 5_000;

/**
 * The caller holds the lock on exports.
 * @throws ArchiveDamagedError, ArchiveOfOtherLogError, ArchiveRangeError, LogChangedError (all stop)
 * @throws ArchiveWriteError (stop), LogUnfilledError (wait)
 */
export const exportLog = async (database: Database, options: ExportOptions): Promise<Exported> => {
  const { folder, limits = LIMITS, listEveryMs = LIST_EVERY_MS, signal } = options;
  const { onProgress = () => {} } = options;
  const { sql } = database;
  await makeFolder(folder);
  const found = await readManifest(folder);
  const range = await logRange(sql);
  const begun = found?.manifest ?? (await beginning(sql, range, options.from));
  if (found !== null) await checkContinues(sql, folder, found.manifest, range, options.from);
  const from = nextOf(begun);
  const last = lastOf(range, from, options.to);
  const manifest = { ...begun, chainId: range.chainId, files: [...begun.files] };
  const list = async () => {
    const end = nextOf(manifest) - 1n;
    const head = await headWithin(sql, manifest.first, end);
    return writeManifest(folder, { ...manifest, head, decimals: await networkDecimals(sql) });
  };
  let listedMs = performance.now();
  let places: ChainPlaces = begun.files.at(-1)?.after ?? begun.before;
  let bytes = 0;
  for await (const batch of readBatches(sql, { begin: begun.first, from, last, ...limits })) {
    signal.throwIfAborted();
    places = placesAfter(places, batch);
    await checkAgainstChains(sql, begun.first, batch.last.sequence, places);
    const name = fileName(batch.first);
    const compressed = await compress(encodeChunk(batch));
    await writeDurably(join(folder, name), compressed);
    manifest.files.push({
      name,
      first: batch.first,
      last: batch.last.sequence,
      facts: batch.facts.length,
      bytes: compressed.length,
      sha256: createHash("sha256").update(compressed).digest("hex"),
      after: places,
    });
    bytes += compressed.length;
    onProgress(batch.last.sequence + 1n, last + 1n, bytes);
    if (performance.now() - listedMs < listEveryMs) continue;
    await list();
    listedMs = performance.now();
  }
  // Also without new files: a head may have been signed since.
  const root = await list();
  await removeUnlisted(folder, [...manifest.files, ...(manifest.raw?.files ?? [])]);
  return {
    ...{ root, first: manifest.first, last: nextOf(manifest) - 1n },
    added: sizeOf(manifest.files.slice(begun.files.length)),
    whole: sizeOf(manifest.files),
  };
};

/** A zstd frame with a checksum. */
export const compress = (bytes: Uint8Array): Promise<Buffer> =>
  promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });

/**
 * Compares with the stored chains. Those of times and input versions begin elsewhere if the archive
 * does, and in a log that filled in its past.
 */
const checkAgainstChains = async (
  sql: Sql,
  first: bigint,
  checkpoint: bigint,
  { facts, blocks, inputs }: ChainPlaces,
): Promise<void> => {
  const storedBlocks = (await storedBlockHashes(sql, first, [checkpoint])).get(checkpoint);
  const stretch = (await inputStretches(sql)).find(
    ({ from, to }) => from === first && checkpoint < to,
  );
  const storedInputs = stretch && hexOf(await inputEnd(sql, { ...stretch, to: checkpoint + 1n }));
  const differing = [
    ...((await hashBefore(sql, checkpoint + 1n)) === facts ? [] : ["log_facts or log_chain"]),
    ...((storedBlocks ?? blocks) === blocks ? [] : ["log_blocks or log_block_chain"]),
    ...((storedInputs ?? inputs) === inputs ? [] : ["log_inputs or log_input_chain"]),
  ];
  if (differing.length === 0) return;
  const what = `${differing.join(", ")} is not what was appended; nothing of it was exported`;
  throw new LogChangedError({ checkpoint, what });
};

const headWithin = async (sql: Sql, first: bigint, last: bigint): Promise<ArchiveHead | null> => {
  const [row] = await sql<ArchiveHead[]>`
    select h.checkpoint, encode(h.hash, 'hex') as hash, h.signature, h.key_id as "keyId",
           k.public_key as "publicKey"
    from log_heads h join deployment_keys k using (key_id)
    where h.checkpoint between ${first} and ${last} order by h.checkpoint desc limit 1`;
  return row ?? null;
};

const networkDecimals = async (sql: Sql) => [
  ...(await sql<{ coinType: string; decimals: number }[]>`
    select coin_type as "coinType", decimals from log_coins
    where decimals_source = 'network' and decimals is not null order by coin_type`),
];
