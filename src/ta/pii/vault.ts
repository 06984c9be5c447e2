/** Investors' data in Postgres, sealed. Every access and deletion is recorded permanently. */
import { randomBytes } from "node:crypto";
import { byteas, texts } from "../../database/column-arrays.ts";
import type { Database, Sql } from "../../database/connect.ts";
import { MASTER_KEY_BYTES, SealedError, seal, unseal } from "../../sealing/sealed.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { PiiKeyLostError, PiiKeyMissingError, type PiiKeys } from "./pii-keys.ts";
import type { Submission } from "./submission.ts";

type StoredRequest = {
  readonly requestId: string;
  readonly asset: string;
  readonly submission: Submission;
};

/** A request's data were deleted on demand, or never stored. */
export class PiiDeletedError extends Error {
  override readonly name = "PiiDeletedError";
  readonly remedy: Remedy = "stop";

  constructor(requestId: string) {
    super(`there are no investor data of request ${requestId}; they were deleted`);
  }
}

/** The key to be deleted as lost is configured and works. */
export class PiiKeyPresentError extends Error {
  override readonly name = "PiiKeyPresentError";
  readonly remedy: Remedy = "stop";

  constructor(keyId: string) {
    super(`key ${keyId} is not lost: it opens what it sealed, and nothing was deleted`);
  }
}

/** Records resealed per transaction. */
const ROWS_PER_ROTATION = 200;

/** For processes without keys. */
export type PiiPresence = ReturnType<typeof heldIn>;

export const heldIn = ({ sql }: Pick<Database, "sql">) => ({
  /** Whether the request has data. */
  holds: async (requestId: string): Promise<boolean> => {
    const found = await sql`select 1 from ta_pii_records where request_id = ${requestId}`;
    return found.length === 1;
  },
});

type InvestorKey = { readonly asset: string; readonly investorId: string };

export type PiiVault = ReturnType<typeof openVault>;

export const openVault = (database: Pick<Database, "sql" | "transaction">, keys: PiiKeys) => {
  const rotateSome = (begins?: (sql: Sql) => Promise<void>) =>
    database.transaction(async ({ sql }) => {
      const { id, key } = keys.current;
      const rows = await sql<SealedKey[]>`
        select request_id as "requestId", key_id as "keyId", sealed_key as "sealedKey"
        from ta_pii_records where key_id <> ${id} limit ${ROWS_PER_ROTATION} for update`;
      const sealed = rows.map((row) => seal(key, keyName(row.requestId), openKey(keys, row)));
      await sql`
        update ta_pii_records set key_id = ${id}, sealed_key = renewed.key
        from unnest(
          ${texts(rows.map(({ requestId }) => requestId))}::uuid[], ${byteas(sealed)}::bytea[]
        ) as renewed (request_id, key)
        where ta_pii_records.request_id = renewed.request_id`;
      if (rows.length > 0) await begins?.(sql);
      return rows.length;
    });

  /** Names of the records' keys that do not open them here. */
  const lostKeys = async (): Promise<readonly string[]> => {
    // One index look-up per key, however many records there are.
    const samples = await database.sql<SealedKey[]>`
      with recursive used as (
        (select key_id from ta_pii_records order by key_id limit 1)
        union all
        select (select r.key_id from ta_pii_records r where r.key_id > used.key_id
                order by r.key_id limit 1)
        from used where used.key_id is not null
      )
      select used.key_id as "keyId", sample.* from used cross join lateral (
        select r.request_id as "requestId", r.sealed_key as "sealedKey"
        from ta_pii_records r where r.key_id = used.key_id limit 1
      ) sample`;
    return samples.filter((sample) => !canOpenKey(keys, sample)).map(({ keyId }) => keyId);
  };

  const deleteWhere = async (which: ReturnType<Sql>, purpose: string): Promise<number> => {
    const [row] = await database.sql<{ deleted: number }[]>`
      with deleted as (
        delete from ta_pii_records where ${which} returning request_id
      ), recorded as (
        insert into ta_pii_accesses (request_id, action, purpose)
        select request_id, 'delete', ${purpose} from deleted
      )
      select count(*)::int4 as deleted from deleted`;
    return row?.deleted ?? 0;
  };

  return {
    ...heldIn(database),

    /**
     * Stores a request's data as part of the statement that accepts it, `with record as (${...})`:
     * both or neither. In that statement `request` has a row with the request's `id`, or none.
     */
    storing: (sql: Sql, { requestId, asset, submission }: StoredRequest): ReturnType<Sql> => {
      const plain = Buffer.from(JSON.stringify(submission));
      const { keyId, sealedKey, sealed } = sealRecord(keys, requestId, plain);
      return sql`
        insert into ta_pii_records (request_id, asset, investor_id, key_id, sealed_key, sealed)
        select id, ${asset}, ${submission.investor.id}, ${keyId}, ${sealedKey}, ${sealed}
        from request`;
    },

    /** The investor's newest request with data; null without any. */
    newestOf: async ({ asset, investorId }: InvestorKey): Promise<string | null> => {
      const [row] = await database.sql<{ id: string }[]>`
        select p.request_id as id from ta_pii_records p left join ta_requests r on r.id = p.request_id
        where p.asset = ${asset} and p.investor_id = ${investorId}
        -- Removed requests are older than kept ones.
        order by r.sequence desc nulls last, p.created_at desc limit 1`;
      return row?.id ?? null;
    },

    /**
     * Opens a request's data, after recording person and reason.
     * @param purpose command, person and reason, such as `command: pii show, by jo: court order 12`;
     *   nothing about the investor
     * @throws PiiDeletedError (stop) when they were deleted
     * @throws PiiKeyMissingError | SealedError (stop)
     */
    open: async (requestId: string, purpose: string): Promise<Submission> => {
      // Committed first, so that no access goes unrecorded.
      await database.sql`
        insert into ta_pii_accesses (request_id, action, purpose)
        values (${requestId}, 'open', ${purpose})`;
      const [row] = await database.sql<SealedRecord[]>`
        select request_id as "requestId", key_id as "keyId", sealed_key as "sealedKey", sealed
        from ta_pii_records where request_id = ${requestId}`;
      if (row === undefined) throw new PiiDeletedError(requestId);
      const plain = unseal(openKey(keys, row), recordName(requestId), row.sealed);
      // Authenticated, so it was written by `storing`.
      return JSON.parse(Buffer.from(plain).toString("utf8")) as Submission;
    },

    /** Returns the number of deleted records. The requests stay; replaying one restores nothing. */
    deleteInvestor: ({ asset, investorId }: InvestorKey, purpose: string): Promise<number> =>
      deleteWhere(database.sql`asset = ${asset} and investor_id = ${investorId}`, purpose),

    /**
     * Deletes everything sealed with a lost key and returns the number of records.
     * @throws PiiKeyPresentError (stop) when the key is configured: nothing was deleted
     */
    deleteSealedWith: async (keyId: string, purpose: string): Promise<number> => {
      if (keys.find(keyId) !== undefined && !(await lostKeys()).includes(keyId)) {
        throw new PiiKeyPresentError(keyId);
      }
      return await deleteWhere(database.sql`key_id = ${keyId}`, purpose);
    },

    isEmpty: async (): Promise<boolean> =>
      (await database.sql`select 1 from ta_pii_records limit 1`).length === 0,

    /**
     * Checks that the keys of all records are configured, with one record per key; opens no data.
     * @throws PiiKeyLostError (stop)
     */
    checkKeys: async (): Promise<void> => {
      const lost = await lostKeys();
      if (lost.length > 0) throw new PiiKeyLostError(lost, keys);
    },

    /**
     * Reseals every record's key with the current key and returns their number. Records stay readable
     * meanwhile. Safe to interrupt and repeat.
     * @param begins runs in the first transaction, if any record needs resealing
     */
    rotate: async (begins?: (sql: Sql) => Promise<void>): Promise<number> => {
      let rotated = 0;
      for (;;) {
        const some = await rotateSome(rotated === 0 ? begins : undefined);
        rotated += some;
        if (some < ROWS_PER_ROTATION) return rotated;
      }
    },
  };
};

/**
 * Envelope encryption of a row of `ta_pii_records`: AES-256-GCM under its own key, which is sealed
 * under a configured key. Rotation reseals only that key. Both are bound to the request, so that
 * neither can be moved to another row.
 */
type SealedRecord = SealedKey & { readonly sealed: Uint8Array };

/** A record's own key. */
type SealedKey = {
  readonly requestId: string;
  readonly keyId: string;
  readonly sealedKey: Uint8Array;
};

export const sealRecord = (keys: PiiKeys, requestId: string, plain: Uint8Array): SealedRecord => {
  const key = randomBytes(MASTER_KEY_BYTES);
  return {
    requestId,
    keyId: keys.current.id,
    sealedKey: seal(keys.current.key, keyName(requestId), key),
    sealed: seal(key, recordName(requestId), plain),
  };
};

const canOpenKey = (keys: PiiKeys, sealed: SealedKey): boolean => {
  try {
    openKey(keys, sealed);
    return true;
  } catch (error) {
    if (error instanceof PiiKeyMissingError || error instanceof SealedError) return false;
    throw error;
  }
};

/** @throws PiiKeyMissingError | SealedError (stop) */
const openKey = (keys: PiiKeys, { requestId, keyId, sealedKey }: SealedKey): Uint8Array => {
  const key = keys.find(keyId);
  if (key === undefined) throw new PiiKeyMissingError(requestId, keyId);
  return unseal(key.key, keyName(requestId), sealedKey);
};

const recordName = (requestId: string) => `investor data of request ${requestId}`;
const keyName = (requestId: string) => `key of the investor data of request ${requestId}`;
