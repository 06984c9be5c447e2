/**
 * Adds raw checkpoints to an archive: fetched from the ledger's source, and compared with the
 * archive's own digests and facts before they are written.
 *
 * A file counts once the manifest lists it, as for chunks of the log.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Database } from "../database/connect.ts";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { packagesInLog } from "../log/packages.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { createRawCheck, keptIn } from "./check-raw.ts";
import { ArchiveRangeError } from "./continue-archive.ts";
import { compress, LIST_EVERY_MS } from "./export-log.ts";
import { removeUnlisted, writeDurably } from "./folder.ts";
import {
  ArchiveDamagedError,
  manifestPath,
  nextOf,
  type RawFile,
  type RawKept,
  type RawSize,
  rawFileName,
  rawSizeOf,
  readManifest,
  writeManifest,
} from "./manifest.ts";
import { encodeRawChunk } from "./raw-chunk.ts";
import { readChunks } from "./read-archive.ts";

/**
 * A checkpoint of the source is not that of the log, or the source lacks it. It was not written.
 * Stop: name a source that has it (LEDGER_SOURCE); if that one differs, too, run `verify --log
 * --source`.
 */
export class ArchiveSourceError extends Error {
  override readonly name = "ArchiveSourceError";
  readonly remedy: Remedy = "stop";

  constructor(source: string, checkpoint: bigint, what: string, options?: ErrorOptions) {
    super(
      `${source}: checkpoint ${checkpoint}: ${what}; nothing of it was written: name another source (LEDGER_SOURCE), or look with verify --log --source which of the two is wrong`,
      options,
    );
  }
}

type RawOptions = {
  /** Of the log that was exported. */
  readonly database: Pick<Database, "sql">;
  readonly folder: string;
  readonly source: CheckpointSource;
  readonly keeps: RawKept["keeps"];
  /** Of a file before compression; a single checkpoint may exceed it. */
  readonly maxBytes?: number;
  readonly listEveryMs?: number;
  readonly signal: AbortSignal;
  /** @param bytes written so far */
  readonly onProgress?: (next: bigint, of: bigint, bytes: number) => void;
};

const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Keeps raw checkpoints up to the archive's end. The caller holds the lock on exports.
 * @returns the archive's root, and what was added
 * @throws ArchiveDamagedError, ArchiveRangeError, ArchiveSourceError, ArchiveWriteError (all stop),
 *   and the source's errors
 */
export const exportRaw = async ({
  database,
  folder,
  source,
  keeps,
  maxBytes = MAX_BYTES,
  listEveryMs = LIST_EVERY_MS,
  signal,
  onProgress = () => {},
}: RawOptions): Promise<{ readonly root: string; readonly added: RawSize }> => {
  const found = await readManifest(folder);
  if (found === null) throw new ArchiveDamagedError(manifestPath(folder), "there is none");
  const { manifest } = found;
  const begun = manifest.raw ?? { keeps, next: manifest.first, files: [] };
  if (begun.keeps !== keeps) {
    throw new ArchiveRangeError(
      `--raw ${keeps}: the archive in ${folder} keeps raw checkpoints by --raw ${begun.keeps}; give that, or export to another folder`,
    );
  }
  const files: RawFile[] = [...begun.files];
  let { next } = begun;
  const list = () => writeManifest(folder, { ...manifest, raw: { keeps, next, files } });
  let listedMs = performance.now();
  let written = 0;
  const packages = (await packagesInLog(database.sql))
    .filter(({ checkpoint }) => checkpoint === null || checkpoint < next)
    .map(({ address }) => address);
  const check = createRawCheck({ packages });
  let held: RawCheckpoint[] = [];
  let heldBytes = 0;
  const write = async () => {
    const [first, last] = [held[0]?.sequence, held.at(-1)?.sequence];
    if (first === undefined || last === undefined) return;
    const compressed = await compress(encodeRawChunk(held));
    const name = rawFileName(first);
    await writeDurably(join(folder, name), compressed);
    const sha256 = createHash("sha256").update(compressed).digest("hex");
    files.push({ name, first, last, checkpoints: held.length, bytes: compressed.length, sha256 });
    next = last + 1n;
    written += compressed.length;
    [held, heldBytes] = [[], 0];
    onProgress(next, nextOf(manifest), written);
    if (performance.now() - listedMs < listEveryMs) return;
    await list();
    listedMs = performance.now();
  };
  for await (const { batch } of readChunks(folder, manifest, { from: next, signal })) {
    const due = keptIn(batch, keeps).filter((sequence) => sequence >= next);
    for await (const raw of fetched(source, due, signal)) {
      const fault = faultOf(source, raw, () => check.faultIn(batch, raw));
      if (fault !== null) throw fault;
      held.push(raw);
      heldBytes += raw.bytes.length;
      if (heldBytes >= maxBytes) await write();
    }
    signal.throwIfAborted();
    // No file reaches over a chunk's end.
    await write();
    next = batch.last.sequence + 1n;
    check.after(batch);
    onProgress(next, nextOf(manifest), written);
  }
  const root = await list();
  await removeUnlisted(folder, [...manifest.files, ...files]);
  const fresh = files.slice(begun.files.length);
  return { root, added: rawSizeOf(fresh) };
};

const faultOf = (
  { description }: CheckpointSource,
  { sequence }: RawCheckpoint,
  check: () => string | null,
): ArchiveSourceError | null => {
  try {
    const what = check();
    return what === null ? null : new ArchiveSourceError(description, sequence, what);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    return new ArchiveSourceError(description, sequence, what, { cause });
  }
};

/** Checkpoints requested ahead; the source bounds a longer run by itself. */
const AHEAD = 32n;

type Run = { readonly first: bigint; readonly last: bigint };

/** Checkpoints in order, from several runs at a time. @throws ArchiveSourceError (stop) */
async function* fetched(
  source: CheckpointSource,
  due: readonly bigint[],
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  const runs = runsOf(due);
  const open: { run: Run; reading: AsyncIterator<RawCheckpoint>; taken: Promise<Taken> }[] = [];
  const length = ({ first, last }: Run) => last - first + 1n;
  const ahead = () => open.reduce((sum, { run }) => sum + length(run), 0n);
  try {
    for (let at = 0; at < runs.length || open.length > 0; ) {
      for (let run = runs[at]; run !== undefined; run = runs[at]) {
        if (open.length > 0 && ahead() + length(run) > AHEAD) break;
        const reading = source.checkpoints(run, signal)[Symbol.asyncIterator]();
        const taken = reading.next();
        // The error surfaces when this run's turn comes.
        taken.catch(() => undefined);
        open.push({ run, reading, taken });
        at += 1;
      }
      const [turn] = open;
      if (turn === undefined) return;
      let sequence = turn.run.first;
      for (let taken = await turn.taken; !taken.done; taken = await turn.reading.next()) {
        if (taken.value.sequence !== sequence) break;
        yield taken.value;
        sequence += 1n;
      }
      if (signal.aborted) return;
      if (sequence <= turn.run.last) {
        throw new ArchiveSourceError(source.description, sequence, "the source lacks it");
      }
      open.shift();
    }
  } finally {
    await Promise.all(open.map(({ reading }) => reading.return?.()));
  }
}

type Taken = IteratorResult<RawCheckpoint>;

/** Consecutive ones together. */
const runsOf = (due: readonly bigint[]): readonly Run[] => {
  const runs: Run[] = [];
  for (const sequence of due) {
    const before = runs.at(-1);
    if (before?.last === sequence - 1n) runs[runs.length - 1] = { ...before, last: sequence };
    else runs.push({ first: sequence, last: sequence });
  }
  return runs;
};
