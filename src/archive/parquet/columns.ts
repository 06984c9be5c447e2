/**
 * Column types of our Parquet files: those that DuckDB, Spark, Trino and ClickHouse read alike, and exactly.
 *
 * A u64 has no type that all of them read: as an unsigned INT64 it is negative, or an error, in some. Sums of u64
 * exceed 64 bits. So both are decimals; 38 digits are the most that every reader has in 128 bits.
 */
import type { ParquetWriter } from "hyparquet-writer";

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** What a column's values are here. */
type Values = {
  int32: number;
  int64: bigint;
  /** 20 digits. */
  u64: bigint;
  /** 38 digits. */
  amount: bigint;
  /** Unix ms, UTC. */
  time: bigint;
  text: string;
  bytes: Uint8Array;
  flag: boolean;
};

type ColumnOf<Row, Type extends keyof Values> = {
  readonly name: string;
  readonly type: Type;
  readonly of: (row: Row) => Values[Type] | null;
  readonly isNullable?: boolean;
  /** Few different values: always with a dictionary. */
  readonly isRepeated?: boolean;
};

export type Column<Row> = { [Type in keyof Values]: ColumnOf<Row, Type> }[keyof Values];

const decimal = (precision: number, bytes: number): Omit<SchemaElement, "name"> => ({
  type: "FIXED_LEN_BYTE_ARRAY",
  type_length: bytes,
  converted_type: "DECIMAL",
  logical_type: { type: "DECIMAL", precision, scale: 0 },
  precision,
  scale: 0,
});

const ELEMENTS: Readonly<Record<keyof Values, Omit<SchemaElement, "name">>> = {
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  u64: decimal(20, 9),
  amount: decimal(38, 16),
  time: {
    ...{ type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  bytes: { type: "BYTE_ARRAY" },
  flag: { type: "BOOLEAN" },
};

export const schemaOf = <Row>(columns: readonly Column<Row>[]): SchemaElement[] => [
  { name: "root", num_children: columns.length },
  ...columns.map(({ name, type, isNullable }) => ({
    name,
    ...ELEMENTS[type],
    repetition_type: isNullable ? ("OPTIONAL" as const) : ("REQUIRED" as const),
  })),
];

/** Exclusive; the writer would cut a larger number silently. */
const LIMITS = { u64: 10n ** 20n, amount: 10n ** 38n } as const;

/** @throws RangeError for a number that its column cannot hold */
export const cellOf = <Row>(column: Column<Row>, row: Row): Values[keyof Values] | null => {
  const value = column.of(row);
  if (column.type !== "u64" && column.type !== "amount") return value;
  const limit = LIMITS[column.type];
  if (typeof value === "bigint" && (value >= limit || value <= -limit)) {
    throw new RangeError(`${column.name}: ${value} does not fit a decimal`);
  }
  return value;
};
