/**
 * COPY in its binary format (Postgres documentation, "COPY, Binary Format"): bulk rows go to the
 * server as they are, where text would double every byte of BCS and be parsed twice.
 */
import { pipeline } from "node:stream/promises";
import type { Sql } from "./session.ts";

/** Signature, flags (none) and the length of the header extension (none). */
const HEADER = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");

/** What a field of one of our tables holds, and how to write it. */
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

/**
 * Bytes gathered before they are handed to the stream. More than a stream buffers: `write` then says
 * "wait", and the chunk has left when the wait is over, so that its memory serves the next one.
 */
const CHUNK_BYTES = 128 * 1024;

/** The longest a field other than text and bytea gets: a numeric of some hundred digits. */
const SMALL_FIELD_BYTES = 256;

/**
 * Copies rows into a table, inside the transaction that `sql` belongs to. Nothing else may be sent on
 * that connection until it ends: statements of the same round trip go before it.
 *
 * `write` is called once per row and must write every column of `columns`, in that order and of that
 * type. Memory stays bounded: rows are handed on in chunks and the socket's pace is kept.
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
  // When it loses the race it ends later, unobserved.
  copied.catch(() => undefined);
  await Promise.race([copied, failure]);
};

/**
 * Rejects when a COPY fails after its stream was handed out.
 *
 * postgres.js considers a COPY settled once the stream exists. What the server says about the rows after
 * the last of them was sent (a duplicate key, a full disk) goes to a promise that has long been
 * resolved, and the stream never ends. So this listens where the driver tries to reject.
 */
const laterFailure = (query: object): Promise<never> => {
  const failure = new Promise<never>((_, fail) => {
    const reject: unknown = Reflect.get(query, "reject");
    Reflect.set(query, "reject", (error: unknown) => {
      fail(error);
      if (typeof reject === "function") Reflect.apply(reject, query, [error]);
    });
  });
  // Before the stream exists it is `query` that rejects.
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
  // The end of the data is marked by a row of -1 fields.
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
      // Three bytes per UTF-16 unit is the worst that UTF-8 does.
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
    /** What was written, to be sent before anything else is written. */
    take: () => {
      const taken = buffer.subarray(0, at);
      at = 0;
      return taken;
    },
  };
};

/**
 * Binary numeric: number of base-10000 digits, weight of the first, sign, decimal places, digits.
 * Returns where it ends.
 */
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
