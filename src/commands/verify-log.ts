/** `holderbook verify --log`: whether the log is what it was when its chain was made. */

import { type VerifiedLog, verifyLog, wrongFacts } from "../audit/verify-log.ts";
import type { Sql } from "../database/connect.ts";
import type { LogFault } from "../log/chain.ts";
import { factSource } from "../log/log.ts";
import { openStorage } from "../service/storage.ts";
import { openNamedSource } from "./named-source.ts";
import { openRuntime, type Runtime } from "./runtime.ts";

/** A source that does not answer by then leaves the faults as they are. */
const SOURCE_MS = 60_000;

export type LogOptions = { readonly source?: string; readonly json?: boolean };

/** A fault, and what the ledger itself says about it. */
type Named = LogFault & { readonly facts: readonly string[] };

export const verifyWholeLog = async ({ source, json }: LogOptions): Promise<void> => {
  const runtime = await openRuntime();
  await using storage = await openStorage(runtime.config, runtime.logger, {
    tables: "current",
    readOnly: true,
  });
  const { sql } = storage.write;
  const report = await verifyLog(sql, runtime.signal);
  const { faults, note } = await namedFaults(runtime, storage.write, report.faults, source);
  const text = json
    ? JSON.stringify(asJson(report, faults, note))
    : inWords(report, faults, note).join("\n");
  process.stdout.write(`${text}\n`);
  if (faults.length > 0) process.exitCode = 1;
};

/** Reads the checkpoints anew, where a source can be had, to say which fact it is. */
const namedFaults = async (
  { config, logger, signal }: Runtime,
  database: Parameters<typeof factSource>[0],
  faults: readonly LogFault[],
  setting: string | undefined,
): Promise<{ readonly faults: readonly Named[]; readonly note?: string }> => {
  const unnamed = faults.map((fault) => ({ ...fault, facts: [] }));
  if (faults.length === 0) return { faults: unnamed };
  try {
    const { source } = await openNamedSource(config, setting, logger);
    const ending = AbortSignal.any([signal, AbortSignal.timeout(SOURCE_MS)]);
    try {
      const { packages } = await factSource(database).highWater();
      const named: Named[] = [];
      for (const fault of faults) {
        named.push({
          ...fault,
          facts: await namesOf(database.sql, source, fault, packages, ending),
        });
      }
      return { faults: named };
    } finally {
      await source.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      faults: unnamed,
      note: `which facts they are, the ledger can tell: --source (${why})`,
    };
  }
};

const namesOf = async (
  sql: Sql,
  source: Awaited<ReturnType<typeof openNamedSource>>["source"],
  { checkpoint }: LogFault,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  for await (const raw of source.checkpoints({ first: checkpoint, last: checkpoint }, signal)) {
    return await wrongFacts(sql, raw, packages);
  }
  throw new Error(`${source.description} did not give checkpoint ${checkpoint} in time`);
};

const inWords = (
  { through, facts, chainedThrough, head }: VerifiedLog,
  faults: readonly Named[],
  note: string | undefined,
): readonly string[] => {
  const signed =
    head === null
      ? "no head is signed yet"
      : `head of checkpoint ${head.checkpoint} signed ${head.signedAt} by ${head.keyId}`;
  if (faults.length === 0) {
    const chained =
      chainedThrough === null
        ? "its chain is not begun: start or index makes it"
        : `chained through checkpoint ${chainedThrough}, ${signed}`;
    return [
      `the log is whole through checkpoint ${through}: ${facts} facts, ${chained}`,
      ...(head === null ? [] : [`hash ${head.hash}`, `key ${head.publicKey}`]),
    ];
  }
  return [
    ...faults.flatMap(({ checkpoint, what, facts: wrong }) => [
      `checkpoint ${checkpoint}: ${what}`,
      ...wrong.map((line) => `  ${line}`),
    ]),
    ...(note === undefined ? [] : [note]),
  ];
};

const asJson = (
  { through, facts, chainedThrough, head }: VerifiedLog,
  faults: readonly Named[],
  note: string | undefined,
) => ({
  holds: faults.length === 0,
  through: `${through}`,
  facts,
  chainedThrough: chainedThrough === null ? null : `${chainedThrough}`,
  head: head && { ...head, checkpoint: `${head.checkpoint}` },
  faults: faults.map((fault) => ({ ...fault, checkpoint: `${fault.checkpoint}` })),
  ...(note !== undefined && { note }),
});
