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
