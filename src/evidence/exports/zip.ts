/** Files as one archive, made while it is sent. */
import { Zip, ZipDeflate } from "fflate";

/** A file of an archive; it is read when its turn comes. */
export type Zipped = {
  readonly name: string;
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;
};

/**
 * The archive, piece by piece. The same files and time give the same bytes.
 * @param files in the order in which they stand in the archive; pieces of their content are texts or bytes,
 *   and what a piece holds is some milliseconds of work
 * @param madeMs milliseconds since the Unix epoch, which the archive says its files are of
 */
export async function* zipped(files: Iterable<Zipped>, madeMs: number): AsyncGenerator<Uint8Array> {
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
  for (const { name, content } of files) {
    const file = new ZipDeflate(name, { level: 6 });
    file.mtime = inLocalTime(madeMs);
    zip.add(file);
    for await (const piece of content) {
      file.push(typeof piece === "string" ? Buffer.from(piece) : piece);
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
