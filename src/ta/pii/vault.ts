/**
 * Where investors' data are kept: Postgres, sealed. Every opening and deletion leaves a row that stays.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Database, Sql } from "../../database/connect.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { openRecord, opensKey, resealKey, sealRecord } from "./envelope.ts";
import { PiiKeyLostError, type PiiKeys } from "./pii-keys.ts";
import type { Submission } from "./submission.ts";

/** Whose data, and of which request. */
export type StoredRequest = {
  readonly requestId: string;
  readonly asset: string;
  readonly submission: Submission;
};

/** Keeps investors' data; a default with Postgres, another one where they must live elsewhere. */
export type PiiVault = {
  /**
   * Stores the data of a request as part of the statement that accepts it, `with record as (${...})`:
   * they are there when it is, and not when it is not. In that statement `request` has a row with the
   * request's `id`, or none.
   */
  storing(sql: Sql, request: StoredRequest): ReturnType<Sql>;
  /** Whether the data of a request are there; opens nothing and needs no key. */
  holds(requestId: string): Promise<boolean>;
  /** The newest request of an investor whose data are there; null when none are. */
  newestOf(investor: {
    readonly asset: string;
    readonly investorId: string;
  }): Promise<string | null>;
  /**
   * Opens the data of a request, after recording who does and why.
   * @param purpose command, person and reason, such as `command: pii show, by jo: court order 12`;
   *   nothing about the investor
   * @throws PiiDeletedError (stop) there are none any more
   * @throws PiiKeyMissingError | SealedError (stop)
   */
  open(requestId: string, purpose: string): Promise<Submission>;
  /**
   * Deletes everything known of an investor of an asset and returns how many records there were.
   * The investor's requests stay, with what happened to them; a replay of one brings nothing back.
   */
  deleteInvestor(
    investor: { readonly asset: string; readonly investorId: string },
    purpose: string,
  ): Promise<number>;
  /**
   * Deletes everything that a key sealed which is lost, and returns how many records there were.
   * @throws PiiKeyPresentError (stop) when the key is there: nothing was deleted
   */
  deleteSealedWith(keyId: string, purpose: string): Promise<number>;
  /** Whether it holds nothing at all. */
  isEmpty(): Promise<boolean>;
  /**
   * Looks whether the keys are there that records are sealed with, by the key of one record of each;
   * opens no data.
   * @throws PiiKeyLostError (stop)
   */
  checkKeys(): Promise<void>;
  /**
   * Seals every record's key with the current key; records stay readable all the time. Returns how
   * many were sealed anew. Safe to stop and to run again.
   * @param begins runs in the transaction of the first ones, where there are any
   */
  rotate(begins?: (sql: Sql) => Promise<void>): Promise<number>;
};

/** The data of a request were deleted on demand, or never stored. Stop: the request cannot go on. */
export class PiiDeletedError extends Error {
  override readonly name = "PiiDeletedError";
  readonly remedy: Remedy = "stop";

  constructor(requestId: string) {
    super(`there are no investor data of request ${requestId}; they were deleted`);
  }
}

/** What a key sealed was to be deleted as lost, but the key is configured and opens it. Stop. */
export class PiiKeyPresentError extends Error {
  override readonly name = "PiiKeyPresentError";
  readonly remedy: Remedy = "stop";

  constructor(keyId: string) {
    super(`key ${keyId} is not lost: it opens what it sealed, and nothing was deleted`);
  }
}

/** Records whose keys are sealed anew in one transaction. */
const ROTATED_AT_ONCE = 200;

/** What the processing of requests asks of a vault. */
export type PiiPresence = Pick<PiiVault, "holds">;

/** That part of the vault in our own Postgres: it needs no keys, so a process may do without them. */
export const heldIn = ({ sql }: Pick<Database, "sql">): PiiPresence => ({
  holds: async (requestId) => {
    const found = await sql`select 1 from ta_pii_records where request_id = ${requestId}`;
    return found.length === 1;
  },
});

/** The vault in our own Postgres. */
export const openVault = (
  database: Pick<Database, "sql" | "transaction">,
  keys: PiiKeys,
): PiiVault => {
  const rotateSome = (begins?: (sql: Sql) => Promise<void>) =>
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
      if (renewed.length > 0) await begins?.(sql);
      return renewed.length;
    });

  /** Names of the keys that records are sealed with, of those that cannot be opened here. */
  const lostKeys = async (): Promise<readonly string[]> => {
    // One look into the index per key, however many records there are.
    const samples = await database.sql<
      { key_id: string; request_id: string; sealed_key: Uint8Array }[]
    >`
      with recursive used as (
        (select key_id from ta_pii_records order by key_id limit 1)
        union all
        select (select r.key_id from ta_pii_records r where r.key_id > used.key_id
                order by r.key_id limit 1)
        from used where used.key_id is not null
      )
      select used.key_id, sample.request_id, sample.sealed_key from used cross join lateral (
        select r.request_id, r.sealed_key from ta_pii_records r where r.key_id = used.key_id limit 1
      ) sample`;
    return samples
      .filter(
        ({ key_id: keyId, request_id: requestId, sealed_key: sealedKey }) =>
          !opensKey(keys, requestId, { keyId, sealedKey }),
      )
      .map(({ key_id }) => key_id);
  };

  return {
    storing: (sql, { requestId, asset, submission }) => {
      const plain = Buffer.from(JSON.stringify(submission));
      const { keyId, sealedKey, sealed } = sealRecord(keys, requestId, plain);
      return sql`
        insert into ta_pii_records (request_id, asset, investor_id, key_id, sealed_key, sealed)
        select id, ${asset}, ${submission.investor.id}, ${keyId}, ${sealedKey}, ${sealed}
        from request`;
    },

    ...heldIn(database),

    newestOf: async ({ asset, investorId }) => {
      const [row] = await database.sql<{ request_id: string }[]>`
        select p.request_id from ta_pii_records p join ta_requests r on r.id = p.request_id
        where p.asset = ${asset} and p.investor_id = ${investorId}
        order by r.sequence desc limit 1`;
      return row?.request_id ?? null;
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
      // Ours, and authenticated: it has no other author.
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

    deleteSealedWith: async (keyId, purpose) => {
      if (keys.find(keyId) !== undefined && !(await lostKeys()).includes(keyId)) {
        throw new PiiKeyPresentError(keyId);
      }
      const [row] = await database.sql<{ deleted: number }[]>`
        with deleted as (
          delete from ta_pii_records where key_id = ${keyId} returning request_id
        ), recorded as (
          insert into ta_pii_accesses (request_id, action, purpose)
          select request_id, 'delete', ${purpose} from deleted
        )
        select count(*)::int4 as deleted from deleted`;
      return row?.deleted ?? 0;
    },

    isEmpty: async () => (await database.sql`select 1 from ta_pii_records limit 1`).length === 0,

    checkKeys: async () => {
      const lost = await lostKeys();
      if (lost.length > 0) throw new PiiKeyLostError(lost, keys);
    },

    rotate: async (begins) => {
      let rotated = 0;
      for (;;) {
        const some = await rotateSome(rotated === 0 ? begins : undefined);
        rotated += some;
        if (some < ROTATED_AT_ONCE) return rotated;
      }
    },
  };
};
