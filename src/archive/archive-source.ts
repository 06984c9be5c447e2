/** The raw checkpoints of an archive as a source: `LEDGER_SOURCE=archive:/path`. */
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { CheckpointMissingError, SourceError } from "../ledger/sources/source-errors.ts";
import { pause } from "../waiting/backoff.ts";
import { ArchiveDamagedError, type Manifest, manifestPath, readManifest } from "./manifest.ts";
import { readRawFile } from "./read-raw.ts";

/** The archive of LEDGER_SOURCE is missing or damaged. Retried. */
export class ArchiveUnreadableError extends SourceError {
  override readonly name = "ArchiveUnreadableError";

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** An archive that is followed may grow. */
const POLL_MS = 5_000;

/** Opens the archive in a folder; reads nothing yet. */
export const archiveSource = (folder: string): CheckpointSource => {
  const description = `archive:${folder}`;
  const read = async (): Promise<Manifest> => manifestOf(folder);
  return {
    description,
    leavesOut: "those that the archive does not keep raw",
    chainId: async () => (await read()).chainId,
    latest: async () => {
      const { raw, first } = await read();
      return raw === null || raw.next === first ? null : raw.next - 1n;
    },
    checkpoints: async function* ({ first, last, gaps = false }, signal) {
      const isDue = (sequence: bigint) => last === undefined || sequence <= last;
      for (let next = first; isDue(next) && !signal.aborted; ) {
        const { raw } = await read();
        for (const file of raw?.files ?? []) {
          if (file.last < next || !isDue(file.first)) continue;
          for (const checkpoint of await rawIn(folder, file)) {
            const { sequence } = checkpoint;
            if (signal.aborted) return;
            if (sequence < next || !isDue(sequence)) continue;
            if (sequence > next && !gaps) {
              throw new CheckpointMissingError(description, next, sequence);
            }
            yield checkpoint;
            next = sequence + 1n;
          }
        }
        const through = (raw?.next ?? next) - 1n;
        if (through >= next && !gaps) {
          throw new CheckpointMissingError(description, next, through);
        }
        if (through >= next) next = through + 1n;
        if (isDue(next)) await pause(POLL_MS, signal);
      }
    },
    close: async () => {},
  };
};

/** The archive's manifest. @throws ArchiveUnreadableError (retry) */
export const manifestOf = async (folder: string): Promise<Manifest> => {
  try {
    const found = await readManifest(folder);
    if (found !== null) return found.manifest;
    throw new ArchiveDamagedError(manifestPath(folder), "there is none");
  } catch (cause) {
    throw new ArchiveUnreadableError(cause);
  }
};

const rawIn = async (...of: Parameters<typeof readRawFile>) => {
  try {
    return await readRawFile(...of);
  } catch (cause) {
    throw new ArchiveUnreadableError(cause);
  }
};
