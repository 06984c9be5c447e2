/**
 * Holds the whole log against its hash chains, against the heads that were signed, and each of its tables
 * against the others. What the database alone cannot show is named as taken on faith.
 */
import type { Database, Sql } from "../database/connect.ts";
import { chainEnd, type LogFault } from "../log/chain.ts";
import { BLOCKS_BEGIN, checkBlocks, edgeFaults } from "../log/check-blocks.ts";
import { checkStretch, gapFault } from "../log/check-chain.ts";
import { packagesInLog } from "../log/packages.ts";
import { pastInputs } from "../log/past-inputs.ts";
import { catalogFaults } from "./catalog-check.ts";
import { checkProofs, type ProofsAsked } from "./check-proofs.ts";
import { entryFaults } from "./entry-check.ts";
import { headFault, type LogHead, signedHeads } from "./log-heads.ts";
import { rootFault } from "./root-signatures.ts";
import { entriesAfter, logSince } from "./sequence.ts";
import { sequenceFaults } from "./sequence-check.ts";

export type VerifiedLog = {
  /** Where the log begins, and up to where everything was looked at. */
  readonly first: bigint;
  readonly through: bigint;
  readonly facts: number;
  /** Checkpoints whose times and digests were held against their chain. */
  readonly checkpoints: number;
  /** Signatures of the validators that were verified. */
  readonly signatures: number;
  /** Last checkpoint with facts that the chain covers; null before it was begun. */
  readonly chainedThrough: bigint | null;
  /** The newest head that was signed. */
  readonly head: LogHead | null;
  /** By checkpoint, the first ones; empty when the log is whole. */
  readonly faults: readonly LogFault[];
  /** Entries of the sequence before this one are about another log, and were not compared; -1 when all were. */
  readonly since: bigint;
  /** What was to be checked, and the database does not have; empty when it has everything. */
  readonly notShown: readonly string[];
  /** What follows from nothing in the database, and a source shows. */
  readonly faith: readonly string[];
  /** What neither shows. */
  readonly beyond: readonly string[];
};

/** A log that was changed all over need not be told checkpoint by checkpoint. */
export const MOST_FAULTS = 20;

/** Entries of the sequence that are held against the log at once: its blocks are read for each of these once. */
const ENTRIES_AT_ONCE = 10_000;

/** Reads the whole log, a stretch at a time; a service may append to it meanwhile. */
export const verifyLog = async (
  database: Database,
  asked: Pick<ProofsAsked, "asked" | "trusted">,
  signal: AbortSignal,
): Promise<VerifiedLog> => {
  const { sql } = database;
  const faults: LogFault[] = [];
  const faith: string[] = [];
  const beyond = ["that Postgres answers others as it answers this command"];
  const notShown: string[] = [];
  const { facts, through } = await verifyFacts(sql, faults, signal);
  const checkpoints = await verifyBlocks(sql, faults, notShown, signal);
  const ends = await database.transaction(async (tx) => {
    // Of one moment: a service may append meanwhile.
    await tx.sql`set transaction isolation level repeatable read`;
    faults.unshift(...(await catalogFaults(tx.sql)).map((what) => ({ checkpoint: 0n, what })));
    for (const look of [gapFault, headFault, (of: Sql) => rootFault(of, signal)]) {
      const fault = await look(tx.sql);
      if (fault !== null) faults.push(fault);
    }
    faults.push(...(await edgeFaults(tx.sql)));
    faults.push(...(await sequenceFaults(tx.sql, signal)));
    const [log] = await tx.sql<{ first: bigint; next: bigint; chain: string | null }[]>`
      select first_checkpoint as first, next_checkpoint as next, chain_id as chain
      from log_high_water`;
    const { first, next, chain = null } = log ?? { first: 0n, next: 0n };
    if (first > 0n) {
      beyond.push(`what was before checkpoint ${first}, with which the log begins`);
    }
    const proofs = await checkProofs(tx.sql, { ...asked, first, next }, signal);
    faults.push(...proofs.faults);
    const packages = await verifyPackages(tx.sql, { first, next }, faults);
    faith.push(...proofs.faith, ...packages.faith);
    beyond.push(...proofs.beyond, ...packages.beyond);
    const since = await logSince(tx.sql);
    for (let after = since; ; ) {
      const entries = await entriesAfter({ sql: tx.sql }, after, ENTRIES_AT_ONCE);
      faults.push(...(await entryFaults(tx.sql, entries, signal)));
      const last = entries.at(-1);
      if (last === undefined || entries.length < ENTRIES_AT_ONCE) break;
      after = BigInt(last.number);
    }
    const left = await pastInputs(tx.sql, 1);
    if (left !== null) {
      const { marks, last } = left;
      notShown.push(
        `input versions of checkpoints ${marks[0]?.sequence} to ${last}: they are not filled in`,
      );
    }
    const { checkpoint } = await chainEnd(tx.sql);
    const [head = null] = await signedHeads(tx.sql, 1);
    const chainedThrough = checkpoint < 0n ? null : checkpoint;
    if (checkpoints > 0 || facts > 0) {
      faith.push(
        `the ledger: that it is of chain ${chain ?? "unknown"}, and that the log had its facts, times and digests when they were chained`,
      );
    }
    return { first, signatures: proofs.signatures, chainedThrough, head, since };
  });
  const known = faults.slice(0, MOST_FAULTS);
  return { ...ends, through, facts, checkpoints, faults: known, notShown, faith, beyond };
};

const verifyFacts = async (sql: Sql, faults: LogFault[], signal: AbortSignal) => {
  let through = -1n;
  let facts = 0;
  while (faults.length < MOST_FAULTS) {
    signal.throwIfAborted();
    const checked = await checkStretch(sql, through);
    ({ through } = checked);
    facts += checked.facts;
    // Each link is held against the stored one before it: behind a fault the rest is looked at, too.
    if (checked.fault !== null) faults.push(checked.fault);
    else if (checked.ended) break;
  }
  return { through, facts };
};

const verifyBlocks = async (
  sql: Sql,
  faults: LogFault[],
  notShown: string[],
  signal: AbortSignal,
): Promise<number> => {
  let place = BLOCKS_BEGIN;
  let checkpoints = 0;
  const most = faults.length + MOST_FAULTS;
  while (faults.length < most) {
    signal.throwIfAborted();
    const checked = await checkBlocks(sql, place);
    ({ place } = checked);
    checkpoints += checked.checkpoints;
    faults.push(...checked.faults);
    if (checked.unfilled !== null) {
      const { from, to } = checked.unfilled;
      const fault = await unfilledFault(sql, from, to);
      if (fault === null) {
        notShown.push(`times and digests of checkpoints ${from} to ${to}: they are not filled in`);
      } else faults.push(fault);
    }
    if (checked.ended) break;
  }
  if (checkpoints === 0) {
    const [log] = await sql<{ first: bigint; last: bigint }[]>`
      select first_checkpoint as first, next_checkpoint - 1 as last from log_high_water
      where next_checkpoint > first_checkpoint`;
    if (log)
      notShown.push(
        `times and digests of checkpoints ${log.first} to ${log.last}: log_blocks is empty`,
      );
  }
  return checkpoints;
};

/** Only a log that an older version began has facts where it has no blocks. */
const unfilledFault = async (sql: Sql, from: bigint, to: bigint): Promise<LogFault | null> => {
  const rows = await sql`
    select from log_checkpoints where checkpoint between ${from} and ${to} limit 1`;
  if (rows.length > 0) return null;
  const what = `log_blocks lacks checkpoints ${from} to ${to}: they were deleted, or log_high_water.first_checkpoint was altered`;
  return { checkpoint: from, what };
};

/** What is believed of the packages. */
const verifyPackages = async (
  sql: Sql,
  { first, next }: { readonly first: bigint; readonly next: bigint },
  faults: LogFault[],
): Promise<Pick<VerifiedLog, "faith" | "beyond">> => {
  const packages = await packagesInLog(sql);
  const faith: string[] = [];
  const begun = packages.filter(({ checkpoint }) => checkpoint === null);
  const beyond =
    begun.length === 0
      ? []
      : [
          `packages ${begun.map(({ address }) => address).join(", ")}: the log was begun with them, and keeps no facts of others`,
        ];
  for (const { address, checkpoint } of packages) {
    if (checkpoint === null) continue;
    if (checkpoint < first || checkpoint >= next) {
      const what = `log_packages: package ${address} joined at a checkpoint that the log does not have`;
      faults.push({ checkpoint, what });
    } else if (begun.some((known) => known.address === address)) {
      faults.push({ checkpoint, what: `log_packages: the log was begun with package ${address}` });
    } else faith.push(`package ${address}: that checkpoint ${checkpoint} published it`);
  }
  return { faith, beyond };
};
