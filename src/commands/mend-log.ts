/** `holderbook verify --log --mend`: replaces damaged rows of the log by those of the ledger, and says what follows. */
import { getTableName } from "drizzle-orm";
import { MOST_MENDED, mendLog } from "../audit/mend/mend-log.ts";
import { MendRefusedError } from "../audit/mend/refused.ts";
import { type Change, nameOf } from "../audit/mend/rows.ts";
import { isGone } from "../audit/verify/source-check.ts";
import { kindsOf } from "../audit/verify/source-record.ts";
import { sourceSignatures } from "../audit/verify/source-signatures.ts";
import { type VerifiedLog, verifyLog } from "../audit/verify/verify-log.ts";
import { noteWhole } from "../audit/watch/log-check.ts";
import { blockersInWords } from "../database/brief-locks.ts";
import type { Sql } from "../database/connect.ts";
import type { Row } from "../database/table-rows.ts";
import { loadBls } from "../ledger/proof/bls.ts";
import { CommitteeError } from "../ledger/proof/proof-errors.ts";
import { isOfSource } from "../ledger/reading/source-trouble.ts";
import { logFacts } from "../log/tables.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { heldIn } from "../projections/held-coins.ts";
import { verificationOf } from "../service/ledger-source.ts";
import type { OpenDatabase } from "./open-database.ts";
import { printMessages } from "./output.ts";
import { askedOf, openNamedSource, retried } from "./sources.ts";

export type MendOptions = {
  readonly by: string;
  readonly because: string;
  readonly source?: string | undefined;
  readonly retryFor: number;
};

export type MendedLog = {
  /** Of the log afterwards. */
  readonly found: VerifiedLog;
  readonly changes: readonly Change[];
  /** What else to do, a sentence each. */
  readonly todo: readonly string[];
};

/**
 * Checks the log and mends what differs from the source, until nothing is left that it can mend.
 * @param opened by the tables' owner
 * @throws MendRefusedError (stop), CommitteeError (stop)
 */
export const mendWholeLog = async (
  opened: OpenDatabase,
  { by, because, source: setting, retryFor }: MendOptions,
): Promise<MendedLog> => {
  const { write, config, logger, signal } = opened;
  const verifying = { ...config, verify: { ...config.verify, level: "signatures" as const } };
  const { source: asked, demo } = await openNamedSource(verifying, setting, logger);
  const source = retried(asked, logger, { forMs: retryFor, isFinal: isGone });
  await using _closing = { [Symbol.asyncDispose]: () => source.close() };
  const trust = await verificationOf(verifying, demo?.source.committee).trust?.();
  if (!trust) {
    throw new CommitteeError(
      "a mended row needs the validators' signatures, whatever VERIFY says: set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
    );
  }
  const bls = await loadBls();
  await using session = await write.session();
  const settings = setting === undefined ? config.ledgerSources : [{ setting }];
  const changes: Change[] = [];
  for (;;) {
    const found = await verifyLog(write, await askedOf(opened), signal, MOST_MENDED);
    const at = (part: "rows" | "blocks") =>
      found.faults.flatMap(({ mendable, checkpoint }) => (mendable === part ? [checkpoint] : []));
    const [rowsAt, blocksAt] = [at("rows"), at("blocks")];
    const made = await mendLog({
      ...{
        on: session,
        source,
        sourceKind: kindsOf(settings),
        by,
        because,
        signal,
        rowsAt,
        blocksAt,
      },
      signatures: sourceSignatures(source, bls, trust),
      onBlocked: (blockers) => printMessages(blockersInWords(blockers)),
    }).catch((error: unknown) => {
      if (error instanceof Error && (isOfSource(error) || isGone(error))) {
        throw new MendRefusedError(error.message, { cause: error });
      }
      throw error;
    });
    if (made.length === 0) {
      if (changes.length > 0 && found.faults.length === 0) {
        await noteWhole(write.sql, found.through);
      }
      return { found, changes, todo: await todoAfter(write.sql, changes) };
    }
    changes.push(...made);
  }
};

/** What pipelines that have read the damaged facts may need. */
const todoAfter = async (sql: Sql, changes: readonly Change[]): Promise<readonly string[]> => {
  const facts = changes.filter(({ table }) => table === logFacts);
  const isOf = ({ former, mended }: Change, matches: (row: Row) => boolean) =>
    [former, mended].some((row) => row !== null && matches(row));
  const held: string[] = [];
  const names: string[] = [];
  const checkpoints = new Set<bigint>();
  for (const { name, watermark, facts: read } of ledgerPipelines) {
    const [row] = await sql<{ next: bigint; held: string | null }[]>`
      select next_checkpoint as next, held::text from ${sql(getTableName(watermark))}`;
    const applied = facts.filter(
      (change) =>
        row !== undefined &&
        change.checkpoint < row.next &&
        isOf(change, (fact) => read.includes(`${fact.name}`)),
    );
    if (applied.length > 0) names.push(name);
    for (const { checkpoint } of applied) checkpoints.add(checkpoint);
    for (const [coinType, { from }] of heldIn(row?.held ?? null)) {
      const isOwn = applied.some(
        (change) => change.checkpoint >= from && isOf(change, (fact) => fact.coinType === coinType),
      );
      if (!isOwn) continue;
      held.push(
        `${name} holds ${coinType} from checkpoint ${from} on: \`quarantine retry ${coinType}\` applies the mended facts`,
      );
    }
  }
  if (names.length === 0) return [];
  const shown = [...checkpoints].slice(0, MOST_SHOWN).join(", ");
  const more = checkpoints.size - MOST_SHOWN;
  const options = names.map((name) => `--pipeline ${name}`).join(" ");
  return [
    ...held,
    `${names.join(", ")}: rows made from damaged facts of checkpoint ${shown}${more > 0 ? ` and ${more} more` : ""} stay as they are. \`replay ${options}\` compares them with the mended log, and with --swap --accept serves the right ones`,
  ];
};

/** Checkpoints that a line names at most. */
const MOST_SHOWN = 10;

export const mendedInWords = ({
  changes,
  todo,
}: Pick<MendedLog, "changes" | "todo">): readonly string[] => [
  ...(changes.length === 0 ? ["no row was mended"] : []),
  ...changes.map(
    (change) =>
      `mended: checkpoint ${change.checkpoint}, ${getTableName(change.table)}: ${nameOf(change)}`,
  ),
  ...todo,
];

export const mendedAsJson = ({ changes, todo }: Pick<MendedLog, "changes" | "todo">) => ({
  mended: changes.map((change) => ({
    table: getTableName(change.table),
    checkpoint: change.checkpoint,
    row: nameOf(change),
  })),
  todo,
});
