/** Records of transfers that are lost, or that are to be made as if there never were any. */
import { bytesOf } from "../../src/values/hex-bytes.ts";
import type { TestDatabase } from "../postgres.ts";

/** Loses a token's records after a block; the progress does not know of it. */
export const loseRecords = ({ sql }: TestDatabase, token: `0x${string}`, afterBlock: number) =>
  sql`delete from transfer_events where token = ${bytesOf(token)} and block > ${afterBlock}`;

/** Forgets every record, with how far they were made and notified. */
export const forgetRecords = ({ sql }: TestDatabase) =>
  sql`truncate transfer_events, transfer_event_groups, transfer_event_progress, transfer_event_holds,
    transfer_event_reserved_ids`;

/** As if project acme held this token (40 hex digits) from block 6 on. */
export const holdToken = ({ sql }: Pick<TestDatabase, "sql">, token: string) => sql`
  insert into transfer_event_holds
    (project, chain_id, token, block, log_index, tx_hash, reason, next_block, after_id)
  values ('acme', 43113, decode(${token}, 'hex'), 6, 0, '\\x00', 'no well-formed Transfer', 6, 1)`;

/** As if no token had ever been held. */
export const forgetHolds = ({ sql }: Pick<TestDatabase, "sql">) =>
  sql`delete from transfer_event_holds`;
