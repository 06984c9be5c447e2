/** Writes rows to a Parquet file, a row group at a time: completely or not at all, in bounded memory. */
import { createHash } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { ArchiveWriteError } from "../folder.ts";
import { type Column, cellOf, schemaOf } from "./columns.ts";

/** Limits of a row group; a single row may exceed the bytes. */
export type GroupLimits = { readonly rows: number; readonly bytes: number };

/** Readers skip a group by its least and greatest checkpoint; memory is several times a group. */
export const GROUP_LIMITS: GroupLimits = { rows: 120_000, bytes: 64 * 1024 * 1024 };

export type WrittenFile = {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
};

type TableFile<Row> = {
  readonly columns: readonly Column<Row>[];
  /** In the order of the file. */
  readonly rows: AsyncIterable<readonly Row[]>;
  /** Bytes of a row besides its fixed columns, where these matter. */
  readonly sizeOf?: (row: Row) => number;
  /** The file's key-value metadata, asked for after the last row. */
  readonly metadata: () => Readonly<Record<string, string>>;
  readonly limits?: GroupLimits | undefined;
  /** Called after each row group. */
  readonly onRows?: (rows: number) => void;
};

/** @throws ArchiveWriteError (stop) */
export const writeTable = async <Row>(
  path: string,
  table: TableFile<Row>,
): Promise<WrittenFile> => {
  const part = `${path}.part`;
  try {
    const written = await writePart(part, table);
    await onDisk(path, () => rename(part, path));
    return written;
  } catch (error) {
    // On a full disk the next files need its room.
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
};

const onDisk = <Done>(path: string, write: () => Promise<Done>): Promise<Done> =>
  write().catch((cause: unknown) => {
    throw new ArchiveWriteError(path, cause);
  });

const writePart = async <Row>(
  path: string,
  { columns, rows, sizeOf = () => 0, metadata, limits = GROUP_LIMITS, onRows }: TableFile<Row>,
): Promise<WrittenFile> => {
  const hash = createHash("sha256");
  await using file = await onDisk(path, () => open(path, "w"));
  const sink = new ByteWriter();
  const flush = async () => {
    const bytes = sink.getBytes();
    hash.update(bytes);
    await onDisk(path, () => file.writeFile(bytes));
    sink.index = 0;
  };
  const writer = new ParquetWriter({
    writer: Object.assign(sink, { flush, finish: flush }),
    schema: schemaOf(columns),
    codec: "ZSTD",
    compressors: { ZSTD: (bytes) => zstdCompressSync(bytes) },
    createdBy: "holderbook",
  });
  let [group, bytes, written]: [Row[], number, number] = [[], 0, 0];
  const writeGroup = async () => {
    const columnData = columns.map((column) => ({
      name: column.name,
      data: group.map((row) => cellOf(column, row)),
      ...(column.isRepeated && { encoding: "RLE_DICTIONARY" as const }),
    }));
    await writer.write({ columnData, rowGroupSize: group.length });
    written += group.length;
    [group, bytes] = [[], 0];
    onRows?.(written);
  };
  for await (const some of rows) {
    for (const row of some) {
      const size = sizeOf(row);
      if (group.length >= limits.rows || (group.length > 0 && bytes + size > limits.bytes)) {
        await writeGroup();
      }
      group.push(row);
      bytes += size;
    }
  }
  if (group.length > 0) await writeGroup();
  writer.kvMetadata = Object.entries(metadata()).map(([key, value]) => ({ key, value }));
  await writer.finish();
  await onDisk(path, () => file.sync());
  return { rows: written, bytes: sink.offset, sha256: hash.digest("hex") };
};
