/** The engine, without a server, that gathers the texts of its statements. */
import pino from "pino";
import type { Readers, Reads } from "../../src/database/readers.ts";
import { createEngine } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";

type Answer = {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions: Readonly<Record<string, unknown>>;
  }[];
};

/** Asks, and tells which statements that took. */
export const askCounted = async (
  readers: Readers,
  packages: readonly string[],
  query: string,
): Promise<{ readonly answer: Answer; readonly statements: readonly string[] }> => {
  const statements: string[] = [];
  const seen = (on: Reads): Reads => ({
    sql: {
      unsafe: (text, ...rest) => {
        statements.push(text);
        return on.sql.unsafe(text, ...rest);
      },
    },
  });
  const engine = createEngine(schema, {
    readers: {
      for: (...request) => seen(readers.for(...request)),
      snapshot: (...request) => {
        const snapshot = readers.snapshot(...request);
        return { ...seen(snapshot), end: snapshot.end };
      },
    },
    packages: () => packages,
    pipelines: ledgerPipelines,
    now: () => 1_700_000_000_000,
  });
  const request = { requestId: "r", log: pino({ level: "silent" }) };
  const { body } = await engine.read(JSON.stringify({ query })).answer(undefined, request);
  return { answer: JSON.parse(body), statements };
};
