/**
 * Holds the whole log against its hash chains, against the heads that were signed, and each of its tables
 * against the others. What the database alone cannot show is named as taken on faith.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { chainEnd, type LogFault } from "../../log/chain.ts";
import { edgeFaults } from "../../log/check-blocks.ts";
import { checkStretch, gapFault } from "../../log/check-chain.ts";
import { pastInputs } from "../../log/past-inputs.ts";
import { catalogFaults } from "../reconcile/catalog-check.ts";
import { unpublishedActs } from "../sequence/acts.ts";
import { keysOnFaith } from "../sequence/key-history.ts";
import { headFault, type LogHead, signedHeads } from "../sequence/log-heads.ts";
import { logSince } from "../sequence/sequence.ts";
import { lookThrough } from "../sequence/stretches.ts";
import { checkAllBlocks, checkEntries, checkPackages, logRange } from "./beyond-facts.ts";
import { checkProofs, type ProofsAsked } from "./check-proofs.ts";
import { rootFault } from "./root-signatures.ts";
import { checkSequence } from "./sequence-check.ts";

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
  const { facts, through } = await verifyFacts(sql, faults, signal);
  const blocks = await lookThrough(checkAllBlocks(database, MOST_FAULTS), faults, signal);
  const { checkpoints } = blocks;
  const notShown = [...blocks.notShown];
  const ends = await database.transaction(async (tx) => {
    // Of one moment: a service may append meanwhile.
    await tx.sql`set transaction isolation level repeatable read`;
    faults.unshift(...(await catalogFaults(tx.sql)).map((what) => ({ checkpoint: 0n, what })));
    for (const look of [gapFault, headFault, (of: Sql) => rootFault(of, signal)]) {
      const fault = await look(tx.sql);
      if (fault !== null) faults.push(fault);
    }
    faults.push(...(await edgeFaults(tx.sql)));
    const range = await logRange(tx.sql);
    const { first, chainId } = range;
    if (first > 0n) {
      beyond.push(`what was before checkpoint ${first}, with which the log begins`);
    }
    await lookThrough(checkSequence(tx), faults, signal);
    const proofs = await lookThrough(checkProofs(tx, { ...asked, ...range }), faults, signal);
    const packages = await lookThrough(checkPackages(tx), faults, signal);
    faith.push(...proofs.faith, ...packages.faith);
    beyond.push(...proofs.beyond, ...packages.beyond);
    beyond.push(...(await keysOnFaith(tx.sql)));
    const unpublished = await unpublishedActs(tx.sql);
    if (unpublished > 0) {
      beyond.push(
        unpublished === 1
          ? "the newest operators' act, which has no entry of the sequence yet"
          : `the ${unpublished} newest operators' acts, which have no entry of the sequence yet`,
      );
    }
    const since = await logSince(tx.sql);
    await lookThrough(checkEntries(tx, since, signal), faults, signal);
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
        `the ledger: that it is of chain ${chainId ?? "unknown"}, and that the log had its facts, times and digests when they were chained`,
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
