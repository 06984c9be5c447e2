/**
 * Reconciles the register: compares its parts with each other and with the log, in one database
 * snapshot, so that a service may run meanwhile.
 */

import type { Database, Db, Session } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { UndecodableFactError } from "../../pipelines/undecodable-fact.ts";
import { ImpossibleBalanceError } from "../../projections/balances.ts";
import { type HeldIn, inQuarantine } from "../../projections/held-coins.ts";
import { FOR_BALANCES, FOR_HOLDERS, FOR_ROLES } from "../../projections/needed.ts";
import {
  LAYOUT_WITH_DIGESTS,
  LAYOUT_WITH_PAST,
  type ProgressTables,
} from "../../projections/progress-tables.ts";
import { lowest } from "../../values/bigints.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { catalogFaults } from "./catalog-check.ts";
import { reportMismatch, showThePast, withoutDigest, wrongCheckpoints } from "./digests.ts";
import { createFindings, type Findings } from "./findings.ts";
import { type Folded, foldedSettings, foldOn, prepareFolding, servedBy } from "./folded-log.ts";
import { leftOutOnFaith } from "./left-out.ts";
import { readIndexedMeta } from "./own-digests.ts";
import { reconcileRoots } from "./roots.ts";
import { ROWS_BEGIN, reconcilePage } from "./rows.ts";
import { reconcileHeldRoles, reconcileMemberships, reconcileRoles } from "./states.ts";
import {
  ALL_OWNERS,
  decimalsOnFaith,
  PARTS,
  reconcileBalances,
  reconcileChanges,
  reconcileSupply,
  tokenTypes,
} from "./sums.ts";
import { reconcileBeyond, reconcileWatermark } from "./watermarks.ts";

export type Reconciliation = {
  readonly checkpoint: bigint;
  readonly coins: number;
  /** Discrepancies, the first hundred. */
  readonly findings: readonly string[];
  /** Number of further findings. */
  readonly more: number;
  /** Checks that could not be made; empty when all were. */
  readonly notShown: readonly string[];
  /** Checks not requested, and assumptions. */
  readonly notes: readonly string[];
};

/**
 * A pipeline was rebuilt during the check. Wait until the rebuild is complete, then run the command
 * again.
 */
export class WentBackError extends Error {
  override readonly name = "WentBackError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      "a pipeline was set back while its rows were reconciled; try again once it has caught up",
    );
  }
}

type ReconcileRequest = {
  /** Chooses the checkpoint in the snapshot; default: the last common to all pipelines. */
  readonly at?: ((on: Db) => Promise<bigint>) | undefined;
  /** Check this token only: skips digests and watermarks, which span all tokens. */
  readonly coinType?: string | undefined;
  readonly signal: AbortSignal;
};

/** @throws NotYetIndexedError (wait), BeforeLogError (stop) */
export const reconcile = async (
  database: Database,
  request: ReconcileRequest,
): Promise<Reconciliation> => {
  await using session = await database.session();
  const found = createFindings();
  const done = await inSnapshot(session, (tx) => reconcileIn(tx, request, found));
  const notShown = new Set(done.notShown);
  if (isWhole(request)) {
    try {
      for (const table of await reconcileRows(database, request.signal, found)) {
        notShown.add(`${table}: its rows were not compared with the facts`);
      }
    } catch (error) {
      if (!isOfFacts(error)) throw error;
      found.add(`log_facts: ${error.message}`);
    }
  }
  const { lines: findings, more } = found;
  return { ...done, notShown: [...notShown], findings, more };
};

/** An undecodable fact, or facts that give an impossible balance: the log was altered. */
export const isOfFacts = (error: unknown): error is Error =>
  error instanceof UndecodableFactError || error instanceof ImpossibleBalanceError;

/** A check of the present and all tokens compares every row with the facts. */
const isWhole = ({ at, coinType }: ReconcileRequest): boolean =>
  at === undefined && coinType === undefined;

/** Uses temporary tables. Returns the tables that could not be checked. */
const reconcileRows = async (
  database: Database,
  signal: AbortSignal,
  found: Findings,
): Promise<readonly string[]> => {
  const settings = foldedSettings("pg_temp");
  await using session = await database.session({
    ...settings,
    runtime: { ...settings.runtime, temp_buffers: "64MB" },
  });
  await prepareFolding(session, "pg_temp");
  for (const pipeline of ledgerPipelines) {
    for (let folded: Folded = "more"; folded === "more"; ) {
      signal.throwIfAborted();
      folded = await foldOn(session, pipeline, await servedBy(session.sql, pipeline));
    }
  }
  const left: string[] = [];
  for (let place = ROWS_BEGIN; ; ) {
    signal.throwIfAborted();
    const page = await reconcilePage(session, "pg_temp", place, found);
    if (page.state === "stale") throw new WentBackError();
    if (page.filling !== null) left.push(page.filling);
    if (page.state === "ended") return left;
    ({ place } = page);
  }
};

/** One snapshot for all statements; only temporary views may be created. */
const inSnapshot = <T>(session: Session, work: (tx: Db) => Promise<T>): Promise<T> =>
  session.transaction(async (tx) => {
    await beginSnapshot(tx);
    return await work(tx);
  });

const reconcileIn = async (
  tx: Db,
  { at, coinType, signal }: ReconcileRequest,
  found: Findings,
): Promise<Omit<Reconciliation, "findings" | "more">> => {
  const notes: string[] = [];
  const notShown: string[] = [];
  for (const what of await catalogFaults(tx.sql)) found.add(what);
  const meta = await readIndexedMeta(tx);
  const checkpoint = at === undefined ? meta.last : await at(tx);
  /** By pipeline; one that never ran is absent. */
  const layouts = new Map<string, number>();
  const trailing = new Set<string>();
  const held: HeldIn[] = [];
  const undigested = new Map<string, bigint>();
  // For one token, watermarks only tell which tables are filled.
  const ofWatermarks = coinType === undefined ? found : createFindings();
  for (const pipeline of ledgerPipelines) {
    const progress = await reconcileWatermark(tx, pipeline, ofWatermarks);
    if (progress === null) continue;
    layouts.set(pipeline.name, progress.layout);
    if (progress.next <= checkpoint) trailing.add(pipeline.name);
    notShown.push(...progress.notShown);
    held.push(...progress.held);
    if (progress.undigestedFrom !== null) undigested.set(pipeline.name, progress.undigestedFrom);
  }
  const has = (layout: number, pipelines: readonly ProgressTables[]) =>
    pipelines.every(({ name }) => (layouts.get(name) ?? 0) >= layout);
  const hasPast: CoinCheck["hasPast"] = (pipelines) => has(LAYOUT_WITH_PAST, pipelines);
  const coins = coinType === undefined ? await tokenTypes(tx.sql) : [coinType];
  const onFaith: string[] = [];
  const from = meta.historyCheckpoint ?? meta.firstCheckpoint ?? 0n;
  const range = { chainId: meta.chainId, from, through: checkpoint };
  let roots = 0;
  for (const coin of coins) {
    signal.throwIfAborted();
    const holds = held.filter(({ coinType: of, from }) => of === coin && from <= checkpoint);
    // Its rows before are compared all the same.
    const through = lowest(checkpoint, ...holds.map(({ from: first }) => first - 1n));
    for (const hold of holds) notShown.push(`${inQuarantine(hold)}; compared through ${through}`);
    if (hasPast(ledgerPipelines)) {
      const { published, compared } = await reconcileRoots(
        tx,
        coin,
        { ...range, through },
        ({ what }) => found.add(what),
      );
      roots += published - compared;
    }
    const isWholeLog = meta.firstCheckpoint === 0n;
    const asked = { checkpoint: through, isWholeLog, hasPast, isPresent: at === undefined };
    if (!(await reconcileCoin(tx, coin, asked, found)))
      onFaith.push(`the sums of ${coin}, which existed before the log began`);
  }
  if (roots > 0) onFaith.push(`${roots} published roots: only some of each token were compared`);
  onFaith.push(...(await leftOutOnFaith(tx.sql, coinType, found)));
  onFaith.push(...(await decimalsOnFaith(tx.sql)).map((line) => `decimals of ${line}`));
  notes.push(...onFaith.map((what) => `taken on faith: ${what}`));
  if (coinType !== undefined)
    notes.push(
      "digests, watermarks and the facts behind rows span all tokens and were not checked",
    );
  else {
    for (const [name, first] of undigested) {
      notShown.push(
        `${name}: the digests from checkpoint ${first} on, which are made after the release of a coin in quarantine`,
      );
    }
    const ready = ledgerPipelines.filter((pipeline) => has(LAYOUT_WITH_DIGESTS, [pipeline]));
    for (const pipeline of ready) await reconcileBeyond(tx, pipeline, found);
    if (at !== undefined) {
      const reached = ready.filter(({ name }) => !trailing.has(name));
      const throughOf = ({ name }: Pipeline) =>
        lowest(checkpoint, (undigested.get(name) ?? checkpoint + 1n) - 1n);
      await reconcileDigests(tx, reached, throughOf, signal, found);
      for (const name of trailing)
        notShown.push(`${name} has not committed checkpoint ${checkpoint} yet`);
      notes.push(
        "taken on faith: the digests, where the rows fit them, and what they do not cover; without --at every row is compared with the facts",
      );
    }
  }
  return { checkpoint, coins: coins.length, notShown, notes };
};

type CoinCheck = {
  readonly checkpoint: bigint;
  /** Whether the log begins with the chain. */
  readonly isWholeLog: boolean;
  /** Whether the history of all of these pipelines is filled in. */
  readonly hasPast: (pipelines: readonly ProgressTables[]) => boolean;
  /** Whether current rows are checked, too. */
  readonly isPresent: boolean;
};

/** Returns false if its supply could not be added up. */
const reconcileCoin = async (
  tx: Db,
  coinType: string,
  { checkpoint, isWholeLog, hasPast, isPresent }: CoinCheck,
  found: Findings,
): Promise<boolean> => {
  const { sql } = tx;
  let isSupply = true;
  const bothPast = hasPast(FOR_BALANCES);
  if (bothPast && hasPast(FOR_HOLDERS)) {
    const mark = await checkpointMark(tx, checkpoint);
    // Sums do not depend on the time, which may still be unfilled.
    const at = { checkpoint, timestampMs: mark?.timestampMs ?? 0n };
    isSupply = await reconcileSupply(tx, coinType, at, isWholeLog, found);
    await reconcileMemberships(sql, coinType, checkpoint, found);
  }
  for (const part of PARTS) {
    if (isPresent) {
      await reconcileBalances(sql, coinType, part, { withPast: bothPast, ...ALL_OWNERS }, found);
    }
    if (bothPast) await reconcileChanges(sql, coinType, part, checkpoint, found);
  }
  if (hasPast(FOR_ROLES)) await reconcileRoles(sql, coinType, checkpoint, found);
  if (isPresent) await reconcileHeldRoles(sql, coinType, found);
  return isSupply;
};

const reconcileDigests = async (
  tx: Db,
  pipelines: readonly Pipeline[],
  throughOf: (pipeline: Pipeline) => bigint,
  signal: AbortSignal,
  found: Findings,
): Promise<void> => {
  const wrong = [];
  for (const pipeline of pipelines) {
    const checkpoint = throughOf(pipeline);
    const stored = await wrongCheckpoints(tx, pipeline, checkpoint, signal);
    const named = new Set(stored.map((each) => each.checkpoint));
    const without = await withoutDigest(tx, pipeline, checkpoint);
    const missing = without
      .filter((each) => !named.has(each))
      .map((each) => ({ checkpoint: each, rows: [], digest: null }));
    const inOrder = [...stored, ...missing].sort((a, b) => (a.checkpoint < b.checkpoint ? -1 : 1));
    wrong.push(...inOrder.map((each) => ({ pipeline, stored: each })));
  }
  if (wrong.length === 0) return;
  // Temporary views now shadow the tables.
  await showThePast(tx.sql);
  for (const { pipeline, stored } of wrong) {
    signal.throwIfAborted();
    if (found.isFull) found.add("");
    else await reportMismatch(tx, pipeline, stored, found);
  }
};
