import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "../../waiting/backoff.ts";
import { createWaker, type Waker } from "../../waiting/waker.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointFileError, openCheckpointFile } from "./chk-file.ts";
import { fetchAndPoll, type WindowBounds } from "./fetch-ahead.ts";
import type { CheckpointSource } from "./source.ts";
import {
  CheckpointDamagedError,
  CheckpointMissingError,
  CheckpointTooLargeError,
  isTooLarge,
  SourceError,
} from "./source-errors.ts";

export type DirectoryOptions = {
  readonly path: string;
  readonly concurrency?: number;
  readonly window?: WindowBounds;
  /** Limit for files and decompressed checkpoints, bytes. */
  readonly maxCheckpointBytes?: number;
  /** Polling interval when the file system sends no events, ms. */
  readonly pollMs?: number;
  /** How long a file may be missing after a later one appeared, ms. */
  readonly missingGraceMs?: number;
  /** Attempts, `rereadMs` apart, before a file counts as damaged: it may still be copied. */
  readonly readings?: number;
  readonly rereadMs?: number;
};

/** The folder or its `ledger.json` is unusable. Retried. */
export class DirectoryUnreadableError extends SourceError {
  override readonly name = "DirectoryUnreadableError";

  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`cannot read ${path}: ${reason}. Check LEDGER_SOURCE=dir:… and its permissions.`, {
      cause,
    });
  }
}

const MIB = 1024 * 1024;

/** File endings, in order of preference. */
const ENDINGS = [".chk", ".binpb.zst"] as const;

/**
 * A folder of checkpoints: `{sequence}.chk` (an encoding byte, then BCS) and `{sequence}.binpb.zst`
 * (compressed protobuf). Ignores other files, such as unfinished ones.
 *
 * Waits for the next file at the end. A missing number with later ones present is an error after a
 * short grace, as facts would be lost.
 */
export const directorySource = ({
  path,
  concurrency = 4,
  window = { checkpoints: 64, bytes: 64 * MIB },
  maxCheckpointBytes = 256 * MIB,
  pollMs = 1_000,
  missingGraceMs = 2_000,
  readings = 3,
  rereadMs = 200,
}: DirectoryOptions): CheckpointSource => {
  const description = `dir:${path}`;

  const read = async (sequence: bigint, signal: AbortSignal): Promise<RawCheckpoint | null> => {
    for (let reading = 1; ; reading += 1) {
      try {
        for (const ending of ENDINGS) {
          const file = join(path, `${sequence}${ending}`);
          const bytes = await readBounded(file, maxCheckpointBytes);
          if (bytes !== null) return await openCheckpointFile(file, bytes, maxCheckpointBytes);
        }
        return null;
      } catch (error) {
        if (
          error instanceof FileTooLargeError ||
          (error instanceof CheckpointFileError && isTooLarge(error))
        ) {
          throw new CheckpointTooLargeError(description, sequence, error.message, { cause: error });
        }
        if (reading >= readings || signal.aborted) {
          throw new CheckpointDamagedError(description, sequence, reading, error);
        }
        await pause(rereadMs, signal);
      }
    }
  };

  /** Waits for `sequence`; null when `signal` aborts. */
  const waitFor = async (
    sequence: bigint,
    changes: FolderChanges,
    signal: AbortSignal,
  ): Promise<RawCheckpoint | null> => {
    let missingSince: number | null = null;
    while (!signal.aborted) {
      const seen = changes.mark();
      const raw = await read(sequence, signal);
      if (raw !== null) return raw;
      const later = (await sequencesIn(path)).filter((one) => one > sequence);
      const nearest = later.reduce<bigint | null>(
        (least, one) => (least === null || one < least ? one : least),
        null,
      );
      if (nearest === null) {
        missingSince = null;
        await changes.since(seen, pollMs, signal);
        continue;
      }
      missingSince ??= performance.now();
      if (performance.now() - missingSince >= missingGraceMs) {
        throw new CheckpointMissingError(description, sequence, nearest);
      }
      await pause(Math.min(pollMs, missingGraceMs / 4), signal);
    }
    return null;
  };

  return {
    description,
    chainId: () => chainIdIn(path),
    latest: async () =>
      (await sequencesIn(path)).reduce<bigint | null>(
        (most, one) => (most === null || one > most ? one : most),
        null,
      ),
    checkpoints: async function* (range, signal) {
      using changes = watchFolder(path);
      yield* fetchAndPoll(
        {
          range,
          fetch: read,
          concurrency: { limit: concurrency },
          bounds: window,
          startWith: concurrency,
        },
        (sequence) => waitFor(sequence, changes, signal),
        signal,
      );
    },
    close: async () => {},
  };
};

class FileTooLargeError extends Error {}

/** Reads a file; null when it does not exist. */
const readBounded = async (file: string, maxBytes: number): Promise<Uint8Array | null> => {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) throw new FileTooLargeError(`${file} has ${size} bytes, not ${maxBytes}`);
    return await readFile(file);
  } catch (error) {
    if (isNotThere(error)) return null;
    throw error;
  }
};

const isNotThere = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Checkpoint numbers in a folder, unordered. */
const sequencesIn = async (path: string): Promise<bigint[]> => {
  let names: string[];
  try {
    names = await readdir(path);
  } catch (error) {
    throw new DirectoryUnreadableError(path, error);
  }
  return names.flatMap((name) => {
    const sequence = /^(0|[1-9]\d{0,18})\.(?:chk|binpb\.zst)$/.exec(name)?.[1];
    return sequence === undefined ? [] : [BigInt(sequence)];
  });
};

/** Chain id from `ledger.json`; null without the file. */
const chainIdIn = async (path: string): Promise<string | null> => {
  await sequencesIn(path);
  const file = join(path, "ledger.json");
  try {
    const ledger: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof ledger === "object" && ledger !== null && "chainId" in ledger) {
      if (typeof ledger.chainId === "string" && ledger.chainId !== "") return ledger.chainId;
    }
    throw new Error('it has no "chainId" that is a text');
  } catch (error) {
    if (isNotThere(error)) return null;
    throw new DirectoryUnreadableError(file, error);
  }
};

type FolderChanges = Disposable & Pick<Waker, "mark" | "since">;

const watchFolder = (path: string): FolderChanges => {
  const changes = createWaker();
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(path, changes.wake);
    // Without events (some network file systems) polling remains.
    watcher.on("error", () => watcher?.close());
  } catch {
    watcher = null;
  }
  return { ...changes, [Symbol.dispose]: () => watcher?.close() };
};
