/**
 * Holds the sequence against itself: its numbers, hashes, signatures and end; and against what else was signed, so
 * that a root or head that was deleted, changed or exchanged is found.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../client/canonical-json.mjs";
import { publicKeyOf, strictBase64, verifyBytes } from "../../client/ed25519.mjs";
import type { Sql } from "../database/connect.ts";
import type { LogFault } from "../log/chain.ts";
import { keyIdOf, publicDeploymentKeys } from "./deployment-key.ts";
import { entriesAfter, entryHash, type SequenceEntry, signedEntry, textIn } from "./sequence.ts";

const PAGE = 1_000;

/** Where a look at the entries has come to. */
type Place = {
  readonly number: bigint;
  readonly previous: string;
  /** The key that signs from here on; undefined before number 0. */
  readonly keyId: string | undefined;
};

/**
 * What does not hold: the first fault of the entries, or else those between the entries and what was signed beside them.
 * @param sql of one snapshot, where entries may be appended meanwhile
 */
export const sequenceFaults = async (
  sql: Sql,
  signal: AbortSignal,
): Promise<readonly LogFault[]> => {
  const listed = await publicDeploymentKeys({ sql });
  const keys = new Map(listed.map(({ keyId, publicKey }) => [keyId, publicKey]));
  let place: Place = { number: 0n, previous: "0".repeat(64), keyId: undefined };
  for (;;) {
    signal.throwIfAborted();
    const page = await entriesAfter({ sql }, place.number - 1n, PAGE);
    for (const entry of page) {
      const what = wrongIn(entry, place, keys);
      if (what !== null) return [faultOf(`entry ${entry.number} of the sequence ${what}`)];
      place = {
        number: place.number + 1n,
        previous: entryHash(entry),
        keyId: entry.kind === "key" ? textIn(entry.body, "keyId") : place.keyId,
      };
    }
    if (page.length < PAGE) break;
  }
  const [end] = await sql<{ next: bigint; hash: string }[]>`
    select next, hash from log_sequence_head`;
  if ((end?.next ?? 0n) !== place.number || (end !== undefined && end.hash !== place.previous)) {
    const what = `ends with number ${place.number - 1n}, but log_sequence_head says ${(end?.next ?? 0n) - 1n}: its end was deleted or exchanged`;
    return [faultOf(`the sequence ${what}`)];
  }
  if (place.number === 0n) return [];
  const faults: string[] = [];
  for (const look of [ROOTS_BEFORE, HEADS_BEFORE]) {
    const what = await committedFault(sql, look);
    if (what !== null) faults.push(what);
  }
  for (const look of [EXCHANGED, HEADS_LOST, HEADS_ADDED, LISTED]) {
    const [row] = await sql.unsafe<{ what: string }[]>(look);
    if (row !== undefined) faults.push(row.what);
  }
  return faults.map(faultOf);
};

const faultOf = (what: string): LogFault => ({ checkpoint: 0n, what });

const wrongIn = (
  entry: SequenceEntry,
  { number, previous, keyId }: Place,
  keys: ReadonlyMap<string, string>,
): string | null => {
  if (entry.number !== `${number}`) return `comes where number ${number} should: it was deleted`;
  if (entry.previous !== previous) {
    return "does not have the hash of the one before: one of both was changed or exchanged";
  }
  const signer = keyId ?? textIn(entry.body, "keyId");
  if (number === 0n && entry.kind !== "key") return "is not of the kind key";
  if (entry.keyId !== signer) return `is signed by ${entry.keyId}; the key there is ${signer}`;
  const publicKey = keys.get(signer);
  if (publicKey === undefined) return `is signed by ${signer}, which deployment_keys lacks`;
  if (keyIdOf(publicKey) !== signer) return `is signed by ${signer}, whose public key was changed`;
  if (number === 0n && textIn(entry.body, "publicKey") !== publicKey) {
    return "names another public key than deployment_keys";
  }
  const signature = strictBase64(entry.signature);
  const bytes = Buffer.from(canonicalJson(signedEntry(entry)), "utf8");
  return signature !== undefined && verifyBytes(bytes, signature, publicKeyOf(publicKey))
    ? null
    : `does not have a signature of ${signer}: it was changed`;
};

/** Since the log was last read anew, entries are about the log that there is. */
const SINCE = `
  coalesce((select max(number) from log_sequence
            where kind = 'correction' and body::jsonb ->> 'of' = 'log'), -1)`;

/** Roots and ends of coins are listed from a table of their numbers: one that lacks there would not be given out. */
const LISTED = `
  select 'entry ' || number || ' of the sequence (' || kind || ') '
         || case when entry is null then 'is not that of its row in coin_entries' else 'has no row in coin_entries' end as what
  from (select number, kind, body::jsonb ->> 'coinType' as coin_type, (body::jsonb ->> 'checkpoint')::int8 as checkpoint,
               number as entry
        from log_sequence where kind in ('root', 'coin')) entries
  full join (select *, number as row from coin_entries) listed using (number, kind, coin_type, checkpoint)
  where entry is null or row is null order by number limit 1`;

type Committed = { readonly count: string; readonly sha256: string };

/** What number 0 commits to, and the rows of that table that came first. */
type Before = { readonly table: string; readonly committed: string; readonly rows: string };

/** Those that came first, in the order and with the members that were hashed. */
const ROOTS_BEFORE: Before = {
  table: "published_roots",
  committed: "select body::jsonb -> 'roots' as said from log_sequence where number = 0",
  rows: `
    select coin_type as "coinType", checkpoint::text as checkpoint,
           checkpoint_digest as "checkpointDigest", root, total, key_id as "keyId", signature
    from (select * from published_roots order by signed_at limit $1::int8) first
    order by coin_type collate "C", first.checkpoint`,
};

const HEADS_BEFORE: Before = {
  table: "log_heads",
  // The heads of a log that was read anew since went with it.
  committed: `
    select body::jsonb -> 'heads' as said from log_sequence where number = 0 and ${SINCE} < 0`,
  rows: `
    select checkpoint::text as checkpoint, encode(hash, 'hex') as hash, key_id as "keyId", signature
    from (select * from log_heads order by signed_at limit $1::int8) first
    order by first.checkpoint`,
};

const committedFault = async (sql: Sql, { table, committed, rows }: Before) => {
  const [row] = await sql.unsafe<{ said: Committed | null }[]>(committed);
  if (row === undefined || row.said === null) return null;
  const { count, sha256 } = row.said;
  const kept = await sql.unsafe<Record<string, string>[]>(rows, [count]);
  const hashed = createHash("sha256");
  for (const each of kept) hashed.update(`${canonicalJson({ ...each })}\n`);
  if (`${kept.length}` === count && hashed.digest("hex") === sha256) return null;
  return `${table} does not have the ${count} rows that entry 0 of the sequence commits to: one was deleted, changed or exchanged`;
};

const EXCHANGED = `
  select 'entries ' || min(number) || ' and ' || max(number) || ' of the sequence (' || kind
         || ') say different things of the same checkpoint: one was signed in the place of the other' as what
  from log_sequence
  where kind = 'root' or (kind in ('head', 'coin') and number > ${SINCE})
  group by kind, body::jsonb ->> 'coinType', body::jsonb ->> 'checkpoint', body::jsonb ->> 'version'
  having count(distinct body::jsonb - 'chainId') > 1
  order by min(number) limit 1`;

const HEADS_LOST = `
  select 'entry ' || s.number || ' of the sequence (head) has no row in log_heads: it was deleted or changed' as what
  from log_sequence s
  where s.kind = 'head' and s.number > ${SINCE}
    and not exists (select from log_heads h where h.checkpoint::text = s.body::jsonb ->> 'checkpoint'
                    and encode(h.hash, 'hex') = s.body::jsonb ->> 'hash')
  order by s.number limit 1`;

const HEADS_ADDED = `
  select 'log_heads has a head of checkpoint ' || h.checkpoint
         || ' that is no entry of the sequence: it was added' as what
  from (select * from log_heads order by signed_at
        offset case when ${SINCE} < 0 then
          (select (body::jsonb -> 'heads' ->> 'count')::int8 from log_sequence where number = 0) else 0 end) h
  where not exists (select from log_sequence s where s.kind = 'head'
                    and s.body::jsonb ->> 'checkpoint' = h.checkpoint::text
                    and s.body::jsonb ->> 'hash' = encode(h.hash, 'hex'))
  order by h.checkpoint limit 1`;
