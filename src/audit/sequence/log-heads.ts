/**
 * Signed heads of the log's hash chain. A chain can be made anew over changed facts; a signature that was
 * given out before cannot be taken back.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { signedLogHead } from "../../../client/verify-log-head.ts";
import type { Sql } from "../../database/connect.ts";
import { chainEnd, chainGap, LogChangedError, type LogFault } from "../../log/chain.ts";
import { checkStretch, endFault } from "../../log/check-chain.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { isSigned } from "./deployment-key.ts";
import { appendEntry, logSince } from "./sequence.ts";

/** A head as it is given out. */
export type LogHead = {
  readonly checkpoint: bigint;
  /** Hex of the 32 bytes. */
  readonly hash: string;
  readonly signature: string;
  readonly keyId: string;
  /** Base64 of the key's 32 bytes; null where deployment_keys does not know it. */
  readonly publicKey: string | null;
  /** ISO 8601. */
  readonly signedAt: string;
};

/** Of the chain that the log was read from; null while the source could not tell. */
export const chainIdOf = async (sql: Sql): Promise<string | null> => {
  const [row] = await sql<{ chain_id: string | null }[]>`select chain_id from log_high_water`;
  return row?.chain_id ?? null;
};

/** The last one as the sequence has it, which says so of a head whose row was deleted, too. */
const LAST_SIGNED = `
  select h.checkpoint, c.hash is not distinct from h.hash as chained
  from ((select checkpoint, hash from log_heads order by checkpoint desc limit 1)
        union all
        (select (body::jsonb ->> 'checkpoint')::int8, decode(body::jsonb ->> 'hash', 'hex')
         from log_sequence where kind = 'head' and number > $1 order by number desc limit 1)) h
  left join log_chain c using (checkpoint) order by h.checkpoint desc, chained limit 1`;

/**
 * The last checkpoint whose head was signed; -1 before the first.
 * @throws LogChangedError (stop) when the chain has another hash there
 */
const signedThrough = async (sql: Sql): Promise<bigint> => {
  const since = await logSince(sql);
  const [row] = await sql.unsafe<{ checkpoint: bigint; chained: boolean }[]>(LAST_SIGNED, [
    `${since}`,
  ]);
  if (row?.chained === false) {
    const what = "log_chain has not the hash of the head that was signed";
    throw new LogChangedError({ checkpoint: row.checkpoint, what });
  }
  return row?.checkpoint ?? -1n;
};

/**
 * Holds the next stretch that no signed head covers against its chains and totals, so that nothing is signed
 * over a log that was changed since it was appended.
 * @param after the last checkpoint that was held against them already
 * @throws LogChangedError (stop)
 */
export const checkUnsigned = async (
  sql: Sql,
  after: bigint,
): Promise<{ readonly through: bigint; readonly ended: boolean }> => {
  // First: see `extendChain`.
  await chainEnd(sql);
  const signed = await signedThrough(sql);
  const { fault, through, ended } = await checkStretch(sql, signed > after ? signed : after);
  if (fault !== null) throw new LogChangedError(fault);
  return { through, ended };
};

/**
 * Signs the end of the chain; returns the new head, null when that one has been signed already, or
 * "unchained" while there is none or it does not cover the log yet.
 * @param sql of a transaction: a head can never be taken back, so the log must not be exchanged meanwhile
 * @param checked what `checkUnsigned` came to; what is behind it is checked here
 * @throws LogChangedError (stop) when the log does not fit its chains or totals; nothing is signed then
 */
export const signHead = async (
  sql: Sql,
  key: DeploymentKey,
  checked = -1n,
): Promise<LogHead | null | "unchained"> => {
  const { checkpoint, hash: bytes } = await chainEnd(sql);
  if (checkpoint >= 0n && (await signedThrough(sql)) === checkpoint) return null;
  // A log that took another's place has none yet.
  if (checkpoint < 0n || (await chainGap(sql)) !== null) return "unchained";
  const wrong = await endFault(sql);
  if (wrong !== null) throw new LogChangedError(wrong);
  for (let next = { through: checked, ended: false }; !next.ended && next.through < checkpoint; ) {
    next = await checkUnsigned(sql, next.through);
  }
  const hash = Buffer.from(bytes).toString("hex");
  const head = { chainId: await chainIdOf(sql), checkpoint: `${checkpoint}`, hash };
  const { keyId, publicKey, signature } = await key.sign(signedLogHead(head));
  // Before the row: entry number 0 commits to the heads that were signed without a sequence.
  await appendEntry(sql, key, "head", head);
  const [row] = await sql<{ signed_at: string }[]>`
    insert into log_heads (checkpoint, hash, signature, key_id)
    values (${checkpoint}, ${bytes}, ${signature}, ${keyId})
    on conflict (checkpoint) do nothing returning to_json(signed_at) #>> '{}' as signed_at`;
  if (row === undefined) return null;
  const signedAt = new Date(row.signed_at).toISOString();
  return { checkpoint, hash, signature, keyId, publicKey, signedAt };
};

/** Heads that were given out, the newest first. */
export const signedHeads = async (sql: Sql, limit: number, before?: bigint): Promise<LogHead[]> => {
  const rows = await sql<
    {
      checkpoint: bigint;
      hash: Buffer;
      signature: string;
      key_id: string;
      public_key: string | null;
      signed_at: string;
    }[]
  >`
    select h.checkpoint, h.hash, h.signature, h.key_id, k.public_key,
           to_json(h.signed_at) #>> '{}' as signed_at
    from log_heads h left join deployment_keys k using (key_id)
    where h.checkpoint < ${before ?? 2n ** 63n - 1n} order by h.checkpoint desc limit ${limit}`;
  return rows.map((row) => ({
    checkpoint: row.checkpoint,
    hash: row.hash.toString("hex"),
    signature: row.signature,
    keyId: row.key_id,
    publicKey: row.public_key,
    signedAt: new Date(row.signed_at).toISOString(),
  }));
};

/** The first head, from the oldest, that the chain no longer has or ever had; null when it has all. */
const contradicted = async (sql: Sql): Promise<LogFault | null> => {
  const [row] = await sql<{ checkpoint: bigint; chained: boolean }[]>`
    select h.checkpoint, c.hash is not null as chained
    from log_heads h left join log_chain c using (checkpoint)
    where c.hash is distinct from h.hash order by h.checkpoint limit 1`;
  if (row === undefined) return null;
  const { checkpoint, chained } = row;
  const what = chained
    ? "log_chain has another hash than the one that was signed in log_heads: facts up to here were changed, and the chain made anew"
    : "log_heads has a signed head, but log_chain has no row: the end of the log was deleted";
  return { checkpoint, what };
};

const isGenuine = (head: LogHead, chainId: string | null): boolean => {
  const { publicKey, signature, hash } = head;
  if (publicKey === null) return false;
  const checkpoint = `${head.checkpoint}`;
  // The first heads may be older than the first source that could tell the chain's id.
  return [chainId, null].some((id) =>
    isSigned(signature, canonicalJson(signedLogHead({ chainId: id, checkpoint, hash })), publicKey),
  );
};

/** Heads whose signatures are verified at once. */
const PAGE = 1_000;

/**
 * Holds the log's end against its high-water mark, the heads against the chain, and their signatures
 * against the keys; null when all of them hold.
 * @param newest how many signatures are verified, from the newest; all unless given
 */
export const headFault = async (sql: Sql, newest?: number): Promise<LogFault | null> => {
  const wrong = (await endFault(sql)) ?? (await contradicted(sql));
  if (wrong !== null) return wrong;
  const chainId = await chainIdOf(sql);
  let left = newest ?? Number.POSITIVE_INFINITY;
  for (let before: bigint | undefined; left > 0; ) {
    const page = await signedHeads(sql, Math.min(PAGE, left), before);
    const forged = page.find((head) => !isGenuine(head, chainId));
    if (forged !== undefined) {
      const what = `the signature in log_heads is not one of key ${forged.keyId}: the row or the key was changed`;
      return { checkpoint: forged.checkpoint, what };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return null;
    before = last.checkpoint;
    left -= page.length;
  }
  return null;
};
