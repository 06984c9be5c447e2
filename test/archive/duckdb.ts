/** DuckDB, which reads our Parquet files as their users do. */
import { DuckDBInstance } from "@duckdb/node-api";

export type Duck = Disposable & {
  /** 64-bit integers and decimals as their exact text, times as text. */
  rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
};

export const openDuck = async (): Promise<Duck> => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  return {
    rows: async (text) => (await connection.runAndReadAll(text)).getRowObjectsJson(),
    [Symbol.dispose]: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
};
