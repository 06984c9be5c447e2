/**
 * Signed heads of the log's hash chain. A chain can be recomputed over changed facts; a published
 * signature cannot be withdrawn.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { signedLogHead } from "../../../client/verify-log-head.ts";
import type { Sql } from "../../database/connect.ts";
import { chainEnd, chainGap, LogChangedError, type LogFault } from "../../log/chain.ts";
import { checkStretch, endFault } from "../../log/check-chain.ts";
import { type DeploymentKey, isSigned } from "./deployment-key.ts";
import { appendEntry, chainIdOf, logSince } from "./sequence.ts";

export type LogHead = {
  readonly checkpoint: bigint;
  /** Hex of the 32 bytes. */
  readonly hash: string;
  readonly signature: string;
  readonly keyId: string;
  /** Base64 of the key's 32 bytes; null if deployment_keys lacks it. */
  readonly publicKey: string | null;
  /** ISO 8601. */
  readonly signedAt: string;
};

/** The last signed head, also by the sequence, in case its row was deleted. */
const LAST_SIGNED = `
  select h.checkpoint, c.hash is not distinct from h.hash as chained
  from ((select checkpoint, hash from log_heads order by checkpoint desc limit 1)
        union all
        (select (body::jsonb ->> 'checkpoint')::int8, decode(body::jsonb ->> 'hash', 'hex')
         from log_sequence where kind = 'head' and number > $1 order by number desc limit 1)) h
  left join log_chain c using (checkpoint) order by h.checkpoint desc, chained limit 1`;

/**
 * Last checkpoint with a signed head; -1 before the first.
 * @throws LogChangedError (stop) when the chain has another hash there
 */
const signedThrough = async (sql: Sql): Promise<bigint> => {
  const since = await logSince(sql);
  const [row] = await sql.unsafe<{ checkpoint: bigint; chained: boolean }[]>(LAST_SIGNED, [
    `${since}`,
  ]);
  if (row?.chained === false) {
    const what = "log_chain does not have the hash of the signed head";
    throw new LogChangedError({ checkpoint: row.checkpoint, what });
  }
  return row?.checkpoint ?? -1n;
};

/**
 * Checks the next stretch without a signed head against its chains and totals, so that a changed
 * log is never signed.
 * @param after last checkpoint already checked
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
 * Signs the chain's end; returns the new head, null if already signed, or "unchained" if the chain
 * is missing or behind the log.
 * @param sql of a transaction: a head cannot be withdrawn, so the log must not be replaced
 * meanwhile
 * @param checked result of `checkUnsigned`; the rest is checked here
 * @throws LogChangedError (stop) when the log does not match its chains or totals; nothing is
 * signed then
 */
export const signHead = async (
  sql: Sql,
  key: DeploymentKey,
  checked = -1n,
): Promise<LogHead | null | "unchained"> => {
  const { checkpoint, hash: bytes } = await chainEnd(sql);
  if (checkpoint >= 0n && (await signedThrough(sql)) === checkpoint) return null;
  // A log that replaced another has none yet.
  if (checkpoint < 0n || (await chainGap(sql)) !== null) return "unchained";
  const wrong = await endFault(sql);
  if (wrong !== null) throw new LogChangedError(wrong);
  for (let next = { through: checked, ended: false }; !next.ended && next.through < checkpoint; ) {
    next = await checkUnsigned(sql, next.through);
  }
  const hash = Buffer.from(bytes).toString("hex");
  const head = { chainId: await chainIdOf(sql), checkpoint: `${checkpoint}`, hash };
  const { keyId, publicKey, signature } = await key.sign(signedLogHead(head));
  // Before the row: entry number 0 commits to heads signed without a sequence.
  await appendEntry(sql, key, "head", head);
  const [row] = await sql<{ signed_at: string }[]>`
    insert into log_heads (checkpoint, hash, signature, key_id)
    values (${checkpoint}, ${bytes}, ${signature}, ${keyId})
    on conflict (checkpoint) do nothing returning to_json(signed_at) #>> '{}' as signed_at`;
  if (row === undefined) return null;
  const signedAt = new Date(row.signed_at).toISOString();
  return { checkpoint, hash, signature, keyId, publicKey, signedAt };
};

/** Published heads, newest first. */
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

/** Oldest head that the chain lacks or contradicts; null if none. */
const contradicted = async (sql: Sql): Promise<LogFault | null> => {
  const [row] = await sql<{ checkpoint: bigint; chained: boolean }[]>`
    select h.checkpoint, c.hash is not null as chained
    from log_heads h left join log_chain c using (checkpoint)
    where c.hash is distinct from h.hash order by h.checkpoint limit 1`;
  if (row === undefined) return null;
  const { checkpoint, chained } = row;
  const what = chained
    ? "log_chain has another hash than the one that was signed in log_heads: facts up to here were changed, and the chain was recomputed"
    : "log_heads has a signed head, but log_chain has no row: the end of the log was deleted";
  return { checkpoint, what };
};

const isGenuine = (head: LogHead, chainId: string | null): boolean => {
  const { publicKey, signature, hash } = head;
  if (publicKey === null) return false;
  const checkpoint = `${head.checkpoint}`;
  // The first heads may predate the first source that reported a chain id.
  return [chainId, null].some((id) =>
    isSigned(signature, canonicalJson(signedLogHead({ chainId: id, checkpoint, hash })), publicKey),
  );
};

/** Heads verified per page. */
const PAGE = 1_000;

/**
 * Checks the log's end against its high-water mark, heads against the chain, and their signatures
 * against the keys; null if all match.
 * @param newest number of newest signatures to verify; default: all
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
