/**
 * Writes the log to a folder as an archive, or appends to one.
 *
 * A chunk counts once the manifest lists it. After a kill the next run begins with the chunk after
 * the listed ones and writes over what was left.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import type { Database, Sql } from "../database/connect.ts";
import { storedBlockHashes } from "../log/block-chain.ts";
import { chainEnd, LogChangedError } from "../log/chain.ts";
import { inputEnd, inputStretches } from "../log/input-chain.ts";
import { packagesInLog } from "../log/packages.ts";
import { readBatches } from "../log/read-batches.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { ARCHIVE_START, type ChainPlaces, placesAfter } from "./chain-places.ts";
import { encodeChunk } from "./chunk.ts";
import {
  type ArchiveHead,
  fileName,
  type Manifest,
  nextOf,
  readManifest,
  writeDurably,
  writeManifest,
} from "./manifest.ts";

/** The folder holds an archive of another log. Nothing was written; name another folder. */
export class ArchiveOfOtherLogError extends Error {
  override readonly name = "ArchiveOfOtherLogError";
  readonly remedy: Remedy = "stop";

  constructor(folder: string, what: string) {
    super(`${folder}: ${what}; export to another folder`);
  }
}

/** The requested checkpoints are not in the log, or do not continue the archive. */
export class ArchiveRangeError extends Error {
  override readonly name = "ArchiveRangeError";
  readonly remedy: Remedy = "stop";
  readonly exitCode = 2;
}

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
  readonly onProgress?: (next: bigint, of: bigint) => void;
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
  /** Of this run. */
  readonly files: number;
  readonly facts: number;
};

const LIST_EVERY_MS = 5_000;

/**
 * @throws ArchiveDamagedError, ArchiveOfOtherLogError, ArchiveRangeError, LogChangedError (all stop)
 * @throws LogUnfilledError (wait)
 */
export const exportLog = async (database: Database, options: ExportOptions): Promise<Exported> => {
  const { folder, limits = LIMITS, listEveryMs = LIST_EVERY_MS, signal } = options;
  const { onProgress = () => {} } = options;
  const { sql } = database;
  await mkdir(folder, { recursive: true });
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
  let facts = 0;
  for await (const batch of readBatches(sql, { begin: begun.first, from, last, ...limits })) {
    signal.throwIfAborted();
    places = placesAfter(places, batch);
    await checkAgainstChains(sql, begun.first, batch.last.sequence, places);
    const name = fileName(batch.first);
    const compressed = await compress(encodeChunk(batch), COMPRESSION);
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
    facts += batch.facts.length;
    onProgress(batch.last.sequence + 1n, last + 1n);
    if (performance.now() - listedMs < listEveryMs) continue;
    await list();
    listedMs = performance.now();
  }
  const files = manifest.files.length - begun.files.length;
  // Also without new files: a head may have been signed since.
  const root = await list();
  return { root, first: manifest.first, last: nextOf(manifest) - 1n, files, facts };
};

const compress = promisify(zstdCompress);

const COMPRESSION = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

type Range = Awaited<ReturnType<typeof logRange>>;

const hashBefore = async (sql: Sql, checkpoint: bigint): Promise<string> =>
  hexOf(await chainEnd(sql, checkpoint - 1n));

const beginning = async (
  sql: Sql,
  { first, next, chainId }: Range,
  from = first,
): Promise<Omit<Manifest, "format">> => {
  if (from < first || from >= next)
    throw new ArchiveRangeError(outside("--from", from, { first, next }));
  const packages = await packagesInLog(sql);
  return {
    chainId,
    packages: packages
      .filter(({ checkpoint }) => checkpoint === null || checkpoint < from)
      .map(({ address }) => address),
    first: from,
    before: { facts: await hashBefore(sql, from), blocks: ARCHIVE_START, inputs: ARCHIVE_START },
    ...{ files: [], head: null, decimals: [] },
  };
};

const outside = (option: string, at: bigint, { first, next }: Pick<Range, "first" | "next">) =>
  next > first
    ? `${option} ${at}: the log has checkpoints ${first} to ${next - 1n}`
    : "the log is empty: there is nothing to export";

const lastOf = (range: Range, from: bigint, to = range.next - 1n): bigint => {
  if (to >= range.next) throw new ArchiveRangeError(outside("--to", to, range));
  if (to < from - 1n) {
    throw new ArchiveRangeError(
      `--to ${to}: the archive would begin with, or already goes to, ${from - 1n}`,
    );
  }
  return to;
};

/** The archive has to be of this log up to its end. */
const checkContinues = async (
  sql: Sql,
  folder: string,
  manifest: Manifest,
  { first, next, chainId }: Range,
  from?: bigint,
): Promise<void> => {
  const other = (what: string) => new ArchiveOfOtherLogError(folder, what);
  if (from !== undefined && from !== manifest.first) {
    throw other(`its archive begins with checkpoint ${manifest.first}, not with ${from}`);
  }
  // A log learns its chain with the first source that reports one.
  if (manifest.chainId !== null && manifest.chainId !== chainId) {
    throw other(`its archive is of chain ${manifest.chainId}, but the log is of chain ${chainId}`);
  }
  const end = nextOf(manifest);
  if (manifest.first < first || end > next) {
    throw other(
      `its archive has checkpoints ${manifest.first} to ${end - 1n}, but the log ${first} to ${next - 1n}`,
    );
  }
  const { facts } = manifest.files.at(-1)?.after ?? manifest.before;
  if ((await hashBefore(sql, end)) !== facts) {
    throw other(`its archive has other facts up to checkpoint ${end - 1n} than the log`);
  }
};

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

const hexOf = ({ hash }: { readonly hash: Uint8Array }): string =>
  Buffer.from(hash).toString("hex");

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
