/**
 * Compares another deployment with this one, row by row, at a checkpoint that both have.
 *
 * Both get the same GraphQL queries, one over HTTP, one in process. The other's stored digests only
 * hint where to look first: altered rows leave them unchanged.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { asInt8 } from "../../database/column-types.ts";
import { type Reads, read } from "../../database/readers.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { shownForeign } from "../../logging/foreign-text.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { QuarantinedError } from "../../projections/held-coins.ts";
import { readMeta } from "../../projections/meta.ts";
import { highest, lowest } from "../../values/bigints.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { ownDigests, readIndexedMeta } from "../reconcile/own-digests.ts";
import {
  NotAnsweredError,
  type OtherDeployment,
  OtherDeploymentError,
  type Register,
} from "./other-deployment.ts";
import { openProgress, type Progress, type Tally } from "./progress.ts";
import type { Difference } from "./rows.ts";
import { type Step, stepsOf } from "./steps.ts";

/** The other one may lag by this many checkpoints before that is reported. */
const MOST_BEHIND = 100n;

export type Comparison = {
  /** The newest checkpoint that was compared. */
  readonly through: bigint;
  /** The last checkpoint of each. */
  readonly here: bigint;
  readonly there: bigint;
  readonly isFull: boolean;
  /** By kind. */
  readonly tallies: ReadonlyMap<string, Tally>;
  /** The first hundred; empty when everything compared is equal. */
  readonly differences: readonly Difference[];
  readonly more: number;
  /** Why the other one shows less than requested; empty when it shows everything. */
  readonly missing: readonly string[];
  /** Other possible causes of a difference. */
  readonly notes: readonly string[];
};

/** The two cannot be compared: they are of different chains, or have no checkpoint in common. */
export class IncomparableError extends Error {
  override readonly name = "IncomparableError";
  readonly remedy: Remedy = "stop";
  /** The command's exit code: 1 for a difference, 3 when one of them does not reach far enough. */
  readonly exitCode: number;

  constructor(message: string, isDifference = false) {
    super(shownForeign(message));
    this.exitCode = isDifference ? 1 : 3;
  }
}

/** Interrupted. Running the same command with the same file resumes it. */
export class ComparisonEndedError extends Error {
  override readonly name = "ComparisonEndedError";
  readonly remedy: Remedy = "retry";
  readonly exitCode = 3;

  constructor(file: string | undefined) {
    super(
      `stopped early; ${file === undefined ? "run it again with --resume FILE to save its progress" : `run the same command again to continue from ${file}`}`,
    );
  }
}

export type Comparing = {
  readonly pipelines: readonly Pipeline[];
  /** Only one pipeline was requested: checks that span all of them are skipped. */
  readonly isPart: boolean;
  /** Compare up to this checkpoint alone. */
  readonly through?: bigint | undefined;
  readonly isFull: boolean;
  /** This program's version, and the layout of its digests. */
  readonly version: string;
  readonly layout: number;
  /** Where progress is stored for resuming; undefined: nowhere. */
  readonly file?: string | undefined;
  /** The other one's address, recorded in that file. */
  readonly url: string;
  readonly signal: AbortSignal;
  /** Called before each step and after every page. */
  readonly onProgress?: (step: Step, number: number, of: number, progress: Progress) => void;
};

/**
 * @param on this deployment's database, for what GraphQL does not serve
 * @throws IncomparableError (stop), OtherDeploymentError, ResumeFileError; NotYetIndexedError (wait)
 */
export const compareDeployments = async (
  on: Reads,
  here: Register,
  there: OtherDeployment,
  comparing: Comparing,
): Promise<Comparison> => {
  const { pipelines, isFull, isPart, signal } = comparing;
  const [own, other] = await Promise.all([readIndexedMeta(on), there.meta()]);
  if (own.chainId !== null && other.chainId !== null && own.chainId !== other.chainId) {
    throw new IncomparableError(
      `the two are of different chains: ${own.chainId} here, ${other.chainId} there`,
      true,
    );
  }
  if (other.last === null) {
    throw new IncomparableError("the other has not indexed a checkpoint yet");
  }
  const first = highest(own.firstCheckpoint ?? 0n, other.firstCheckpoint ?? 0n);
  const isGuided = (await readMeta(on)).isGuided || (await there.isGuided());
  const known = async (checkpoint: bigint) =>
    isGuided ? await lastOfContract(on, checkpoint) : checkpoint;
  const ends = lowest(own.last, other.last);
  // One that this log did not read has no time and digest here.
  const common = (await checkpointMark(on, ends)) === null ? await known(ends) : ends;
  const newest = comparing.through ?? common;
  if (newest > common || newest < first) {
    throw new IncomparableError(
      `checkpoint ${newest} is not in both: here are ${own.firstCheckpoint} to ${own.last}, there ${other.firstCheckpoint} to ${other.last}`,
    );
  }
  const progress = await openProgress(
    comparing.file,
    {
      "the address": comparing.url,
      "the last checkpoint asked for": `${comparing.through ?? "none"}`,
      "what is compared": `${isFull ? "everything" : "a sample"} of ${pipelines.map(({ name }) => name).join(", ")}`,
    },
    newest,
  );
  const { through } = progress;
  if (through > common) {
    throw new IncomparableError(`the other no longer has checkpoint ${through}, but ${other.last}`);
  }
  // A comparison resumes only over unchanged rows.
  const digests = await ownDigests(on, pipelines, through).catch(asIncomparable);
  progress.assertOwn(digests.map(({ pipeline, digest }) => `${pipeline} ${digest}`).join(", "));
  const sameFirst = own.firstCheckpoint === other.firstCheckpoint;
  const reaches = reachesHere(on, own.last, signal);
  const compared = {
    on,
    here,
    there,
    reaches,
    signal,
    progress,
    first,
    sameFirst,
    isGuided,
    known,
    isFull,
  };
  const names = new Set(pipelines.map(({ name }) => name));
  const steps = (await stepsOf(compared, pipelines)).filter(({ pipelines: needed }) =>
    needed === undefined ? !isPart : needed.some((name) => names.has(name)),
  );
  const stopped = await runAll(steps, progress, comparing);
  return {
    through,
    here: own.last,
    there: other.last,
    isFull,
    tallies: progress.tallies,
    differences: progress.differences,
    more: progress.more,
    missing: [...missingOf(own, other, through), ...progress.notAnswered, ...stopped],
    notes: progress.differences.length === 0 ? [] : await notesOf(there, own, other, comparing),
  };
};

/** The last checkpoint with facts of the contract's coins up to this one: every log reads it. */
const lastOfContract = async (on: Reads, checkpoint: bigint): Promise<bigint> => {
  const [row] = await read<{ readonly last: bigint }>(on, LAST_OF_CONTRACT, [asInt8(checkpoint)]);
  return row?.last ?? checkpoint;
};

const ofContract = (where: string, order: string) => `
  (select checkpoint as last from log_coin_chain as chain
   where checkpoint ${where} and exists (
     select from log_coins c where c.coin_type = chain.coin_type and c.is_security)
   order by checkpoint ${order} limit 1)`;

// Before the first one, that one.
const LAST_OF_CONTRACT = `
  ${ofContract("<= $1::int8", "desc")} union all ${ofContract("> $1::int8", "")} order by 1 limit 1`;

/** A held token of this deployment is no difference. */
const asIncomparable = (error: unknown): never => {
  if (!(error instanceof QuarantinedError)) throw error;
  throw new IncomparableError(
    `give --through ${error.checkpoint - 1n}: from there on ${error.pipeline} has no digest to compare. ${error.message}`,
  );
};

/** Polls of this deployment's last checkpoint: in total, and without news. */
const ATTEMPTS = 10;
const STILL = 3;
const PAUSE_MS = 700;

/** Whether this deployment has a checkpoint; waits for it while new ones arrive. */
const reachesHere = (on: Reads, begun: bigint, signal: AbortSignal) => {
  let [last, still] = [begun, 0];
  return async (checkpoint: bigint): Promise<boolean> => {
    for (let attempt = 0; checkpoint > last && attempt < ATTEMPTS; attempt += 1) {
      const now = (await readIndexedMeta(on)).last;
      still = now === last ? still + 1 : 0;
      last = now;
      if (still >= STILL || checkpoint > last + MOST_BEHIND) break;
      if (checkpoint > last) await sleep(PAUSE_MS, undefined, { signal });
    }
    return checkpoint <= last;
  };
};

/** Why the run stopped early after finding a difference; empty when it completed. */
const runAll = async (
  steps: readonly Step[],
  progress: Progress,
  { signal, onProgress, file }: Comparing,
): Promise<readonly string[]> => {
  try {
    for (const [number, step] of [...steps.entries()].slice(progress.step)) {
      signal.throwIfAborted();
      onProgress?.(step, number, steps.length, progress);
      const keep = async (next: string) => {
        await progress.keep(number, next);
        onProgress?.(step, number, steps.length, progress);
      };
      await step.run(progress.cursor, keep).catch((error: unknown) => {
        if (!(error instanceof NotAnsweredError)) throw error;
        progress.addNotAnswered(`${step.name}: ${error.message}`);
      });
      await progress.keep(number + 1);
    }
  } catch (error) {
    await progress.flush();
    if (signal.aborted) throw new ComparisonEndedError(file);
    if (!(error instanceof OtherDeploymentError) || progress.differences.length === 0) throw error;
    return [`stopped before the end: ${error.message}`];
  }
  await progress.end();
  return [];
};

type Range = { readonly last: bigint | null; readonly firstCheckpoint: bigint | null };

/** Where the other one shows less than this one has. */
const missingOf = (own: Range, other: Range, through: bigint): readonly string[] => {
  const [last, otherLast] = [own.last ?? 0n, other.last ?? 0n];
  const behind = last - otherLast;
  const missing: string[] = [];
  if (behind > MOST_BEHIND) {
    missing.push(
      `the other is ${behind} checkpoints behind, at ${otherLast}: nothing after checkpoint ${through} was compared`,
    );
  }
  if ((other.firstCheckpoint ?? 0n) > (own.firstCheckpoint ?? 0n)) {
    missing.push(
      `the other's log begins at checkpoint ${other.firstCheckpoint}, this one's at ${own.firstCheckpoint}: it cannot show what is in between`,
    );
  }
  return missing;
};

const notesOf = async (
  there: OtherDeployment,
  own: Range,
  other: Range,
  { version, layout }: Comparing,
): Promise<readonly string[]> => {
  const notes: string[] = [];
  if (own.firstCheckpoint !== other.firstCheckpoint) {
    notes.push(
      `the logs begin at different checkpoints, ${own.firstCheckpoint} here and ${other.firstCheckpoint} there: rows from before the later one are in one of them alone`,
    );
  }
  if (own.last !== other.last) {
    notes.push(
      `symbols, names and decimals are the newest that each one knows, at checkpoint ${own.last} here and ${other.last} there`,
    );
  }
  const otherVersion = await there.version();
  if (otherVersion !== version) {
    notes.push(
      `the versions differ, ${version} here and ${otherVersion ?? "unknown"} there: unless the digests there have layout ${layout}, too, all of them differ`,
    );
  }
  return notes;
};
