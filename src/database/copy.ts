/** COPY in Postgres's "Binary Format": text would double every byte of BCS and be parsed twice. */
import { pipeline } from "node:stream/promises";
import type { Sql } from "./session.ts";

/** Signature, flags (none) and length of the header extension (0). */
const HEADER = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");

export type CopyRow = {
  /** int8. */
  bigint(value: bigint | null): void;
  /** int4. */
  integer(value: number | null): void;
  /** int2. */
  smallint(value: number | null): void;
  boolean(value: boolean | null): void;
  text(value: string | null): void;
  bytea(value: Uint8Array | null): void;
  /** numeric without fraction, of any size. */
  numeric(value: bigint | null): void;
};

/** More than a stream buffers: `write` asks to wait, after which the memory can be reused. */
const CHUNK_BYTES = 128 * 1024;

/** Maximum size of fields other than text and bytea. */
const SMALL_FIELD_BYTES = 256;

/**
 * Copies rows into a table, inside the transaction of `sql`. Send nothing else on that connection
 * meanwhile.
 *
 * `write` is called per row and writes every column of `columns` in order. Memory is bounded: rows
 * are sent in chunks at the socket's pace.
 */
export const copyInto = async <Row>(
  sql: Sql,
  table: string,
  columns: readonly string[],
  rows: Iterable<Row>,
  write: (row: Row, fields: CopyRow) => void,
): Promise<void> => {
  const list = columns.map((column) => `"${column}"`).join(", ");
  const query = sql.unsafe(`copy "${table}" (${list}) from stdin (format binary)`);
  const failure = laterFailure(query);
  const target = await query.writable();
  const copied = pipeline(encodedRows(columns.length, rows, write), target);
  // Ignore its rejection when it loses the race.
  copied.catch(() => undefined);
  await Promise.race([copied, failure]);
};

/**
 * Rejects when a COPY fails after its stream was handed out.
 *
 * postgres.js resolves a COPY once the stream exists; later errors (a duplicate key, a full disk)
 * reject a settled promise and the stream never ends. This listens where the driver rejects.
 */
const laterFailure = (query: object): Promise<never> => {
  const failure = new Promise<never>((_, fail) => {
    const reject: unknown = Reflect.get(query, "reject");
    Reflect.set(query, "reject", (error: unknown) => {
      fail(error);
      if (typeof reject === "function") Reflect.apply(reject, query, [error]);
    });
  });
  // Before the stream exists, `query` itself rejects.
  failure.catch(() => undefined);
  return failure;
};

function* encodedRows<Row>(
  width: number,
  rows: Iterable<Row>,
  write: (row: Row, fields: CopyRow) => void,
): Generator<Buffer> {
  const chunk = chunkWriter();
  chunk.bytes(HEADER);
  for (const row of rows) {
    chunk.int16(width);
    write(row, chunk.fields);
    if (chunk.length() >= CHUNK_BYTES) yield chunk.take();
  }
  // A row of -1 fields ends the data.
  chunk.int16(-1);
  yield chunk.take();
}

const chunkWriter = () => {
  let buffer = Buffer.allocUnsafe(CHUNK_BYTES * 2);
  let at = 0;

  const room = (bytes: number) => {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, at + bytes));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  };
  const int16 = (value: number) => {
    room(2);
    at = buffer.writeInt16BE(value, at);
  };
  const absent = () => {
    room(4);
    at = buffer.writeInt32BE(-1, at);
  };
  const sized = (bytes: number) => {
    room(4 + bytes);
    at = buffer.writeInt32BE(bytes, at);
  };

  const fields: CopyRow = {
    bigint: (value) => {
      if (value === null) return absent();
      sized(8);
      at = buffer.writeBigInt64BE(value, at);
    },
    integer: (value) => {
      if (value === null) return absent();
      sized(4);
      at = buffer.writeInt32BE(value, at);
    },
    smallint: (value) => {
      if (value === null) return absent();
      sized(2);
      at = buffer.writeInt16BE(value, at);
    },
    boolean: (value) => {
      if (value === null) return absent();
      sized(1);
      at = buffer.writeUInt8(value ? 1 : 0, at);
    },
    text: (value) => {
      if (value === null) return absent();
      // UTF-8 takes at most three bytes per UTF-16 unit.
      room(4 + value.length * 3);
      const bytes = buffer.write(value, at + 4);
      at = buffer.writeInt32BE(bytes, at) + bytes;
    },
    bytea: (value) => {
      if (value === null) return absent();
      sized(value.length);
      buffer.set(value, at);
      at += value.length;
    },
    numeric: (value) => {
      if (value === null) return absent();
      room(SMALL_FIELD_BYTES);
      const end = writeNumeric(buffer, at + 4, value);
      buffer.writeInt32BE(end - at - 4, at);
      at = end;
    },
  };

  return {
    fields,
    int16,
    length: () => at,
    bytes: (bytes: Buffer) => {
      room(bytes.length);
      at += bytes.copy(buffer, at);
    },
    /** Returns what was written; send it before writing more. */
    take: () => {
      const taken = buffer.subarray(0, at);
      at = 0;
      return taken;
    },
  };
};

/** Digit count (base 10000), weight of the first, sign, decimal places, digits; returns the end. */
const writeNumeric = (buffer: Buffer, start: number, value: bigint): number => {
  const digits: number[] = [];
  let rest = value < 0n ? -value : value;
  while (rest > 0n) {
    digits.push(Number(rest % 10_000n));
    rest /= 10_000n;
  }
  let at = buffer.writeInt16BE(digits.length, start);
  at = buffer.writeInt16BE(Math.max(digits.length - 1, 0), at);
  at = buffer.writeUInt16BE(value < 0n ? 0x4000 : 0, at);
  at = buffer.writeInt16BE(0, at);
  for (let i = digits.length - 1; i >= 0; i -= 1) at = buffer.writeInt16BE(digits[i] ?? 0, at);
  return at;
};
