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

/** Rows by column: a quarter of the memory that they need as objects. */
const newGroup = <Row>(columns: readonly Column<Row>[]) => {
  const data = columns.map((): unknown[] => []);
  // Each row comes with a string of its own, also of a text that all rows share.
  const known = new Map<unknown, unknown>();
  const once = (value: unknown) => {
    if (!known.has(value)) known.set(value, value);
    return known.get(value);
  };
  return {
    data,
    rows: 0,
    bytes: 0,
    add(row: Row, size: number) {
      for (const [index, column] of columns.entries()) {
        const cell = cellOf(column, row);
        data[index]?.push(column.isRepeated ? once(cell) : cell);
      }
      this.rows += 1;
      this.bytes += size;
    },
  };
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
  let group = newGroup(columns);
  let written = 0;
  const writeGroup = async () => {
    const { data, rows: rowGroupSize } = group;
    const columnData = columns.map(({ name, isRepeated }, index) => ({
      ...{ name, data: data[index] ?? [] },
      ...(isRepeated && { encoding: "RLE_DICTIONARY" as const }),
    }));
    await writer.write({ columnData, rowGroupSize });
    written += rowGroupSize;
    group = newGroup(columns);
    onRows?.(written);
  };
  for await (const some of rows) {
    for (const row of some) {
      const size = sizeOf(row);
      const isFull = group.rows >= limits.rows || group.bytes + size > limits.bytes;
      if (isFull && group.rows > 0) await writeGroup();
      group.add(row, size);
    }
  }
  if (group.rows > 0) await writeGroup();
  writer.kvMetadata = Object.entries(metadata()).map(([key, value]) => ({ key, value }));
  await writer.finish();
  await onDisk(path, () => file.sync());
  return { rows: written, bytes: sink.offset, sha256: hash.digest("hex") };
};
