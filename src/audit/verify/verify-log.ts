/**
 * Checks the whole log against its hash chains, its signed heads, and its tables against each
 * other. Claims that the database cannot show are listed as taken on faith.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { archivedPartitions } from "../../log/archived.ts";
import { chainEnd, type LogFault } from "../../log/chain.ts";
import { edgeFaults } from "../../log/check-blocks.ts";
import { checkStretch, gapFault } from "../../log/check-chain.ts";
import { guidedRanges } from "../../log/guided.ts";
import { pastInputs } from "../../log/past-inputs.ts";
import { catalogFaults } from "../reconcile/catalog-check.ts";
import { unpublishedActs } from "../sequence/acts.ts";
import { keysOnFaith } from "../sequence/key-history.ts";
import { headFault, type LogHead, signedHeads } from "../sequence/log-heads.ts";
import { rootFault } from "../sequence/published-roots.ts";
import { correctionsOnFaith } from "../sequence/root-corrections.ts";
import { logSince } from "../sequence/sequence.ts";
import { runStretches } from "../sequence/stretches.ts";
import { checkAllBlocks, checkPackages, logRange } from "./blocks-and-packages.ts";
import { checkGuided } from "./check-guided.ts";
import { checkProofs, type ProofCheckOptions } from "./check-proofs.ts";
import { checkEntries } from "./entry-check.ts";
import { checkSequence } from "./sequence-check.ts";

/** A fault, and which rows of its checkpoint the ledger can give again; undefined: none. */
export type PlacedFault = LogFault & { readonly mendable?: "rows" | "blocks" | undefined };

export type VerifiedLog = {
  /** First checkpoint, and the last one fully checked. */
  readonly first: bigint;
  readonly through: bigint;
  readonly facts: number;
  /** Checkpoints whose times and digests were checked against their chain. */
  readonly checkpoints: number;
  /** Verified signatures of the validators. */
  readonly signatures: number;
  /** Last checkpoint with facts in the chain; null before it began. */
  readonly chainedThrough: bigint | null;
  /** Newest signed head. */
  readonly head: LogHead | null;
  /** By checkpoint, the first ones; empty if there are none. */
  readonly faults: readonly PlacedFault[];
  /** Earlier sequence entries are about another log and were skipped; -1: all were compared. */
  readonly since: bigint;
  /** Requested checks that the database lacks the data for. */
  readonly notShown: readonly string[];
  /** Claims that only a source can show. */
  readonly faith: readonly string[];
  /** Claims that neither the database nor a source can show. */
  readonly beyond: readonly string[];
};

/** Faults listed at most. */
export const MOST_FAULTS = 20;

/**
 * Reads the whole log, a stretch at a time; a service may append meanwhile.
 * @param most faults listed at most
 */
export const verifyLog = async (
  database: Database,
  asked: Pick<ProofCheckOptions, "asked" | "trusted">,
  signal: AbortSignal,
  most = MOST_FAULTS,
): Promise<VerifiedLog> => {
  const { sql } = database;
  const inCatalog: LogFault[] = [];
  const inRows: LogFault[] = [];
  const inBlocks: LogFault[] = [];
  const faults: LogFault[] = [];
  const faith: string[] = [];
  const beyond = ["that Postgres shows other sessions the same data as this command"];
  const { facts, through } = await verifyFacts(sql, inRows, signal, most);
  const blocks = await runStretches(checkAllBlocks(database, most), inBlocks, signal);
  const { checkpoints } = blocks;
  const notShown = [...blocks.notShown];
  const ends = await database.transaction(async (tx) => {
    // One snapshot: a service may append meanwhile.
    await tx.sql`set transaction isolation level repeatable read`;
    inCatalog.push(...(await catalogFaults(tx.sql)).map((what) => ({ checkpoint: 0n, what })));
    for (const check of [gapFault, headFault, (of: Sql) => rootFault(of, signal)]) {
      const fault = await check(tx.sql);
      if (fault !== null) faults.push(fault);
    }
    faults.push(...(await edgeFaults(tx.sql)));
    const range = await logRange(tx.sql);
    const { first, chainId } = range;
    if (first > 0n) {
      beyond.push(`what was before checkpoint ${first}, with which the log begins`);
    }
    await runStretches(checkSequence(tx), faults, signal);
    const proofs = await runStretches(checkProofs(tx, { ...asked, ...range }), faults, signal);
    const summaries = await runStretches(checkGuided(tx, range), faults, signal);
    for (const { first: from, last } of await guidedRanges(tx)) {
      beyond.push(
        `that no checkpoint of ${from} to ${last} concerns the contract but those that guided reading read (prove complete shows it)`,
      );
    }
    const packages = await runStretches(checkPackages(tx), faults, signal);
    faith.push(...proofs.faith, ...packages.faith);
    beyond.push(...proofs.beyond, ...packages.beyond);
    beyond.push(...(await keysOnFaith(tx.sql)), ...(await correctionsOnFaith(tx.sql)));
    const unpublished = await unpublishedActs(tx.sql);
    if (unpublished > 0) {
      beyond.push(
        unpublished === 1
          ? "the newest operators' act, which has no entry of the sequence yet"
          : `the ${unpublished} newest operators' acts, which have no entry of the sequence yet`,
      );
    }
    const since = await logSince(tx.sql);
    await runStretches(checkEntries(tx, since, signal), faults, signal);
    const left = await pastInputs(tx.sql, 1);
    if (left !== null) {
      const { marks, last } = left;
      notShown.push(
        `input versions of checkpoints ${marks[0]?.sequence} to ${last}: they are not filled in`,
      );
    }
    for (const { first: from, before, root } of await archivedPartitions(tx.sql)) {
      beyond.push(
        `facts and input versions of checkpoints ${from} to ${before - 1n}, which are archived: log_chain has the hash of the facts (archive verify FOLDER --key KEY shows these, and --root ${root} both, until the next export to that folder prints another root)`,
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
    const signatures = proofs.signatures + summaries;
    return { first, signatures, chainedThrough, head, since };
  });
  const known = [
    ...inCatalog,
    ...inRows.map((fault) => ({ ...fault, mendable: "rows" as const })),
    ...inBlocks.map((fault) => ({ ...fault, mendable: "blocks" as const })),
    ...faults,
  ].slice(0, most);
  return { ...ends, through, facts, checkpoints, faults: known, notShown, faith, beyond };
};

const verifyFacts = async (sql: Sql, faults: LogFault[], signal: AbortSignal, most: number) => {
  let through = -1n;
  let facts = 0;
  while (faults.length < most) {
    signal.throwIfAborted();
    const checked = await checkStretch(sql, through);
    ({ through } = checked);
    facts += checked.facts;
    // Each link is checked against the stored one before it, so the check continues after a fault.
    if (checked.fault !== null) faults.push(checked.fault);
    else if (checked.ended) break;
  }
  return { through, facts };
};
