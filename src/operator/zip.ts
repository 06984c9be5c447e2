/** A folder's files as one archive, made while it is sent. */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Zip, ZipDeflate } from "fflate";

/** Read, compressed and sent before more is: some milliseconds of work. */
const AT_ONCE = 64 * 1024;

/**
 * The archive, piece by piece. The same files and time give the same bytes.
 * @param names of files in the folder, in the order in which they stand in the archive
 * @param madeMs milliseconds since the Unix epoch, which the archive says its files are of
 */
export async function* zipped(
  folder: string,
  names: readonly string[],
  madeMs: number,
): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  const failed: Error[] = [];
  const zip = new Zip((error, piece) => {
    if (error) failed.push(error);
    else pieces.push(piece);
  });
  const made = (): readonly Uint8Array[] => {
    const [error] = failed;
    if (error !== undefined) throw error;
    const some = pieces;
    pieces = [];
    return some;
  };
  for (const name of names) {
    const file = new ZipDeflate(name, { level: 6 });
    file.mtime = inLocalTime(madeMs);
    zip.add(file);
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: AT_ONCE })) {
      if (chunk instanceof Uint8Array) file.push(chunk);
      yield* made();
    }
    file.push(new Uint8Array(), true);
    yield* made();
  }
  zip.end();
  yield* made();
}

/** Archives hold local time; here it reads as UTC, wherever it is made. They know no year before 1980. */
const inLocalTime = (ms: number): Date => {
  const utc = new Date(Math.max(ms, Date.UTC(1980, 0, 2)));
  return new Date(
    utc.getUTCFullYear(),
    utc.getUTCMonth(),
    utc.getUTCDate(),
    utc.getUTCHours(),
    utc.getUTCMinutes(),
    utc.getUTCSeconds(),
  );
};
