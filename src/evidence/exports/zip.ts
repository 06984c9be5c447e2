import { Zip, ZipDeflate } from "fflate";

/** Read only when it is written. */
export type Zipped = {
  readonly name: string;
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;
};

/**
 * The archive, piece by piece. The same files and time give the same bytes.
 * @param files in archive order; each piece of content should compress in a few ms
 * @param madeMs modification time of the files, Unix ms
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

/** Zip stores local time, from 1980 on; this shows UTC in every time zone. */
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
