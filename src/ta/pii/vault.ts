/**
 * Where investors' data are kept: Postgres, sealed. Writing is part of accepting a request
 * (`accept.ts`); this is everything after that. Every opening and deletion leaves a row that stays.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Database } from "../../database/connect.ts";
import type { Remedy } from "../../remedy.ts";
import type { Submission } from "../submission.ts";
import { openRecord, resealKey, type SealedRecord, sealRecord } from "./envelope.ts";
import type { PiiKeys } from "./pii-keys.ts";

/** Keeps investors' data; a default with Postgres, another one where they must live elsewhere. */
export type PiiVault = {
  /** Seals the data of a request, to be written in the transaction that accepts it. */
  seal(requestId: string, submission: Submission): SealedRecord;
  /** Whether the data of a request are there and their key is known; opens nothing. */
  holds(requestId: string): Promise<boolean>;
  /**
   * Opens the data of a request, after recording who does and why.
   * @param purpose the step or command, such as `whitelist: check`; nothing personal
   * @throws PiiDeletedError (stop) there are none any more
   * @throws PiiKeyMissingError | SealedError (stop)
   */
  open(requestId: string, purpose: string): Promise<Submission>;
  /**
   * Deletes everything known of an investor of an asset and returns how many records there were.
   * His requests stay, with what happened to them.
   */
  deleteInvestor(
    investor: { readonly asset: string; readonly investorId: string },
    purpose: string,
  ): Promise<number>;
  /**
   * Seals every record's key with the current key; records stay readable all the time. Returns how
   * many were sealed anew. Safe to stop and to run again.
   */
  rotate(): Promise<number>;
};

/** The data of a request were deleted on demand, or never stored. Stop: the request cannot go on. */
export class PiiDeletedError extends Error {
  override readonly name = "PiiDeletedError";
  readonly remedy: Remedy = "stop";

  constructor(requestId: string) {
    super(`there are no investor data of request ${requestId}; they were deleted`);
  }
}

/** Records whose keys are sealed anew in one transaction. */
const ROTATED_AT_ONCE = 200;

/** The vault in our own Postgres. */
export const openVault = (
  database: Pick<Database, "sql" | "transaction">,
  keys: PiiKeys,
): PiiVault => {
  const rotateSome = () =>
    database.transaction(async ({ sql }) => {
      const rows = await sql<{ request_id: string; key_id: string; sealed_key: Uint8Array }[]>`
        select request_id, key_id, sealed_key from ta_pii_records
        where key_id <> ${keys.current.id} limit ${ROTATED_AT_ONCE} for update`;
      const renewed = rows.map(({ request_id, key_id, sealed_key }) => ({
        requestId: request_id,
        ...resealKey(keys, request_id, { keyId: key_id, sealedKey: sealed_key }),
      }));
      await sql`
        update ta_pii_records set key_id = ${keys.current.id}, sealed_key = decode(renewed.key, 'hex')
        from unnest(
          ${texts(renewed.map(({ requestId }) => requestId))}::uuid[],
          ${texts(renewed.map(({ sealedKey }) => Buffer.from(sealedKey).toString("hex")))}::text[]
        ) as renewed (request_id, key)
        where ta_pii_records.request_id = renewed.request_id`;
      return renewed.length;
    });

  return {
    seal: (requestId, submission) =>
      sealRecord(keys, requestId, Buffer.from(JSON.stringify(submission))),

    holds: async (requestId) => {
      const [row] = await database.sql<{ key_id: string }[]>`
        select key_id from ta_pii_records where request_id = ${requestId}`;
      return row !== undefined && keys.find(row.key_id) !== undefined;
    },

    open: async (requestId, purpose) => {
      // Committed before anything is opened: an opening without its row is impossible.
      await database.sql`
        insert into ta_pii_accesses (request_id, action, purpose)
        values (${requestId}, 'open', ${purpose})`;
      const [row] = await database.sql<
        { key_id: string; sealed_key: Uint8Array; sealed: Uint8Array }[]
      >`select key_id, sealed_key, sealed from ta_pii_records where request_id = ${requestId}`;
      if (row === undefined) throw new PiiDeletedError(requestId);
      const plain = openRecord(keys, requestId, {
        keyId: row.key_id,
        sealedKey: row.sealed_key,
        sealed: row.sealed,
      });
      // Ours, and authenticated: nobody else can have written it.
      return JSON.parse(Buffer.from(plain).toString("utf8")) as Submission;
    },

    deleteInvestor: async ({ asset, investorId }, purpose) => {
      const [row] = await database.sql<{ deleted: number }[]>`
        with deleted as (
          delete from ta_pii_records where asset = ${asset} and investor_id = ${investorId}
          returning request_id
        ), recorded as (
          insert into ta_pii_accesses (request_id, action, purpose)
          select request_id, 'delete', ${purpose} from deleted
        )
        select count(*)::int4 as deleted from deleted`;
      return row?.deleted ?? 0;
    },

    rotate: async () => {
      let rotated = 0;
      for (;;) {
        const some = await rotateSome();
        rotated += some;
        if (some < ROTATED_AT_ONCE) return rotated;
      }
    },
  };
};
