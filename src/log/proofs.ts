/** Proofs of the log's checkpoints: validators' signatures and their committees. */
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import type { LogCommittee, StretchProof } from "./fact.ts";

/** The signature of the stretch that covers a checkpoint; null where none was verified. */
export const proofOf = async (on: Reads, checkpoint: bigint): Promise<StretchProof | null> => {
  const [row] = await read<StretchProof>(on, PROOF, [checkpoint]);
  return row !== undefined && row.lastCheckpoint >= checkpoint ? row : null;
};

const PROOF = `
  select first_checkpoint as "firstCheckpoint", last_checkpoint as "lastCheckpoint", epoch, summary,
         signature, signers
  from log_proofs where first_checkpoint <= $1
  order by first_checkpoint desc limit 1`;

/** The committee of an epoch, or the newest known; null when unknown. */
export const committeeInLog = async (on: Reads, epoch?: bigint): Promise<LogCommittee | null> => {
  const [row] = await read<LogCommittee>(on, COMMITTEE, [epoch ?? null]);
  return row ?? null;
};

const COMMITTEE = `
  select epoch, members, named_by as "namedBy" from log_committees
  where $1::int8 is null or epoch = $1::int8
  order by epoch desc limit 1`;

/** The committee of the last known epoch up to this one; null without one. */
export const committeeUpTo = async (sql: Sql, epoch: bigint): Promise<LogCommittee | null> => {
  const [row] = await sql<LogCommittee[]>`
    select epoch, members, named_by as "namedBy" from log_committees
    where epoch <= ${epoch}::int8 order by epoch desc limit 1`;
  return row ?? null;
};

/** Proofs of stretches that begin after a checkpoint, ascending. */
export const proofsAfter = (
  sql: Sql,
  after: bigint,
  limit: number,
): Promise<readonly StretchProof[]> => sql<StretchProof[]>`
  select first_checkpoint as "firstCheckpoint", last_checkpoint as "lastCheckpoint", epoch, summary,
         signature, signers
  from log_proofs where first_checkpoint > ${after} order by first_checkpoint limit ${limit}`;

export const allCommittees = (sql: Sql): Promise<readonly LogCommittee[]> => sql<LogCommittee[]>`
  select epoch, members, named_by as "namedBy" from log_committees order by epoch`;
