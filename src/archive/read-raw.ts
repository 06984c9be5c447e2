/** Reads the raw checkpoints of an archive, each file only after its hash was checked. */
import { join } from "node:path";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { ArchiveDamagedError, type RawFile } from "./manifest.ts";
import { decodeRawChunk } from "./raw-chunk.ts";
import { decodedIn, wholeFile } from "./read-archive.ts";

/** @throws ArchiveDamagedError (stop) naming the file */
export const readRawFile = async (
  folder: string,
  file: RawFile,
): Promise<readonly RawCheckpoint[]> => {
  const path = join(folder, file.name);
  const checkpoints = await decodedIn(path, await wholeFile(path, file), decodeRawChunk);
  const isAscending = checkpoints.every(
    ({ sequence }, n) => n === 0 || sequence > (checkpoints[n - 1]?.sequence ?? sequence),
  );
  const [first, last] = [checkpoints[0]?.sequence, checkpoints.at(-1)?.sequence];
  if (
    isAscending &&
    first === file.first &&
    last === file.last &&
    checkpoints.length === file.checkpoints
  ) {
    return checkpoints;
  }
  throw new ArchiveDamagedError(
    path,
    `it has ${checkpoints.length} raw checkpoints from ${first ?? "none"} to ${last ?? "none"}, but the manifest ${file.checkpoints} ascending ones from ${file.first} to ${file.last}`,
  );
};
