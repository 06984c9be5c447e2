/**
 * Appends an archive's chunks to an empty log, or to one that an import of this archive began.
 *
 * The log's own code appends, so that chains, totals, coins and blocks are made as for a source.
 */
import { recordAct } from "../audit/sequence/acts.ts";
import type { Database, Session } from "../database/connect.ts";
import { decimalsIn } from "../ledger/reading/read.ts";
import { blockChainEnd } from "../log/block-chain.ts";
import { chainEnd } from "../log/chain.ts";
import { recordDecimals } from "../log/coins.ts";
import type { AppendBatch } from "../log/fact.ts";
import { readHighWater } from "../log/high-water.ts";
import { inputEnd } from "../log/input-chain.ts";
import { openLog } from "../log/log.ts";
import { allCommittees } from "../log/proofs.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { ARCHIVE_START, type ChainPlaces } from "./chain-places.ts";
import { type Manifest, nextOf } from "./manifest.ts";
import { readChunks } from "./read-archive.ts";
import type { VerifiedArchive } from "./verify-archive.ts";

/** The database has another log. Nothing was imported; name an empty database. */
export class ArchiveTargetError extends Error {
  override readonly name = "ArchiveTargetError";
  readonly remedy: Remedy = "stop";

  constructor(what: string) {
    super(
      `${what}; import needs an empty database, or one that an import of this archive began and nothing else wrote`,
    );
  }
}

type ImportOptions = {
  readonly folder: string;
  readonly archive: Pick<VerifiedArchive, "manifest" | "root">;
  /** What shows that the archive is the log's, for the record. */
  readonly shownBy: "root" | "key" | null;
  /** Holds the log's writer lock. */
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly onProgress?: (next: bigint, of: bigint) => void;
};

/**
 * @returns facts and files of this run
 * @throws ArchiveDamagedError, ArchiveTargetError (both stop)
 */
export const importLog = async (
  database: Database,
  { folder, archive, shownBy, session, signal, onProgress = () => {} }: ImportOptions,
): Promise<{ readonly facts: number; readonly files: number }> => {
  const { manifest, root } = archive;
  const from = await placeToContinue(database, manifest);
  const { chainId, packages, first: firstCheckpoint } = manifest;
  if (from < nextOf(manifest)) {
    // Before the first fact: a killed import shows where its facts come from, too.
    const range = { from: `${from}`, to: `${nextOf(manifest) - 1n}` };
    const details = { root, ...range, signedBy: manifest.head?.keyId ?? null, shownBy };
    const act = { command: "archive import", details, on: "deployment" } as const;
    await database.transaction(({ sql }) => recordAct(sql, act));
  }
  const log = await openLog(database, { chainId, packages, firstCheckpoint });
  const known = new Set((await allCommittees(database.sql)).map(({ epoch }) => epoch));
  let facts = 0;
  let files = 0;
  for await (const { file, batch } of readChunks(folder, manifest, { from, signal })) {
    await log.append(withNewCommittees(batch, known), batch.facts.flatMap(decimalsIn), session);
    facts += file.facts;
    files += 1;
    onProgress(file.last + 1n, nextOf(manifest));
  }
  await recordDecimals(database, "network", manifest.decimals);
  return { facts, files };
};

const withNewCommittees = (batch: AppendBatch, known: Set<bigint>): AppendBatch => {
  const committees = batch.committees?.filter(({ epoch }) => !known.has(epoch)) ?? [];
  for (const { epoch } of committees) known.add(epoch);
  return { ...batch, committees };
};

/**
 * First checkpoint to import. Times, digests and input versions are chained from the archive's
 * first checkpoint on, as in a log that it began; facts only if the archive begins with its log.
 */
const placeToContinue = async (database: Database, manifest: Manifest): Promise<bigint> => {
  const { sql } = database;
  const log = await readHighWater(sql);
  if (log === undefined) return manifest.first;
  const { firstCheckpoint: first, nextCheckpoint: next } = log;
  const has = `the database has a log of checkpoints ${first} to ${next - 1n}`;
  if (first !== manifest.first) {
    throw new ArchiveTargetError(`${has}, but the archive begins with ${manifest.first}`);
  }
  if (next === first) return first;
  const file = manifest.files.find(({ last }) => last === next - 1n);
  if (file === undefined) {
    throw new ArchiveTargetError(`${has}, which is not where a file of the archive ends`);
  }
  const stretch = { from: first, to: next };
  const ends: ChainPlaces = {
    facts: hexOf((await chainEnd(sql)).hash),
    blocks: hexOf((await blockChainEnd(sql, first, next)).hash),
    inputs: hexOf((await inputEnd(sql, stretch)).hash),
  };
  const chains = ["blocks", "inputs", ...(isWhole(manifest) ? (["facts"] as const) : [])] as const;
  const other = chains.find((chain) => ends[chain] !== file.after[chain]);
  if (other === undefined) return next;
  throw new ArchiveTargetError(`${has}, whose chain of ${other} is not the archive's`);
};

/** Whether the archive begins with the first facts of its log. */
const isWhole = ({ before }: Manifest): boolean => before.facts === ARCHIVE_START;

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");
