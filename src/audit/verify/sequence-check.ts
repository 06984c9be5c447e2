/**
 * Checks the sequence: numbers, hashes, signatures and end; and its entries against the tables of
 * roots and heads, so that a deleted or changed row is found.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import {
  correctionFaults,
  correctionIn,
  correctsRoots,
  RootsSaid,
} from "../../../client/root-corrections.ts";
import { rootBody1 } from "../../../client/verify-statement.ts";
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import { actFault } from "../sequence/acts.ts";
import { isSigned, keyIdOf, publicDeploymentKeys } from "../sequence/deployment-key.ts";
import type { Root } from "../sequence/published-roots.ts";
import {
  type Commitment,
  commitmentTo,
  entriesAfter,
  entriesAt,
  entryHash,
  type SequenceEntry,
  signedEntry,
  textIn,
} from "../sequence/sequence.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";
import { archiveActFault } from "./archive-acts.ts";

const PAGE = 1_000;

/** Below every entry number. */
const LOWEST = -(2n ** 63n);

/** Progress of a check of the entries. */
type Place = {
  readonly number: bigint;
  readonly previous: string;
  /** Signing key from here on; undefined before number 0. */
  readonly keyId: string | undefined;
  /** Time of the previous entry. */
  readonly at: string;
};

/** End and last entry in one snapshot; they must agree. */
const END = `
  select coalesce(h.next, 0) as next, coalesce(h.hash, '') as hash,
         coalesce((select max(number) + 1 from log_sequence), 0) as entries
  from (select) as one left join log_sequence_head h on true`;

type End = { readonly next: bigint; readonly hash: string; readonly entries: bigint };

/**
 * The first fault of the entries, or else those between the entries and the tables beside them. A
 * page per stretch; skips entries appended meanwhile.
 */
export async function* checkSequence(on: Reading): Stretches {
  const [end] = await on.sql.unsafe<End[]>(END);
  if (end === undefined) return;
  // Read after the end: a key is inserted before its signatures.
  const listed = await publicDeploymentKeys(on);
  const keys = new Map(listed.map(({ keyId, publicKey }) => [keyId, publicKey]));
  let place: Place = { number: 0n, previous: "0".repeat(64), keyId: undefined, at: "" };
  while (place.number < end.next) {
    const after = place.number === 0n ? LOWEST : place.number - 1n;
    const page = await entriesAfter(on, after, PAGE);
    for (const entry of page.slice(0, Number(end.next - place.number))) {
      const what = wrongIn(entry, place, keys);
      if (what !== null) return yield [faultOf(`entry ${entry.number} of the sequence ${what}`)];
      place = {
        number: place.number + 1n,
        previous: entryHash(entry),
        keyId: entry.kind === "key" ? textIn(entry.body, "keyId") : place.keyId,
        at: entry.at,
      };
    }
    if (page.length < PAGE) break;
    yield [];
  }
  const { next, entries } = end;
  if (next !== entries || next !== place.number || (next > 0n && end.hash !== place.previous)) {
    const what = `ends with number ${entries - 1n}, but log_sequence_head says ${next - 1n}: its end was deleted or exchanged`;
    return yield [faultOf(`the sequence ${what}`)];
  }
  const act = (await actFault(on.sql)) ?? (await archiveActFault(on.sql));
  const faults = act === null ? [] : [act];
  if (next === 0n) return yield faults.map(faultOf);
  const correction = await correctionFault(on);
  if (correction !== null) faults.push(correction);
  for (const beside of [ROOTS, HEADS]) {
    const what = await committedFault(on.sql, beside);
    if (what !== null) faults.push(what);
  }
  for (const statement of [
    EXCHANGED,
    UNCORRECTED,
    ROOTS.rowless,
    HEADS.rowless,
    HEADS_DATED,
    LISTED,
  ]) {
    const [row] = await on.sql.unsafe<{ what: string }[]>(statement);
    if (row !== undefined) faults.push(row.what);
  }
  yield faults.map(faultOf);
}

const faultOf = (what: string): LogFault => ({ checkpoint: 0n, what });

const wrongIn = (
  entry: SequenceEntry,
  { number, previous, keyId, at }: Place,
  keys: ReadonlyMap<string, string>,
): string | null => {
  if (entry.number !== `${number}`) return `comes where number ${number} should: it was deleted`;
  if (entry.previous !== previous) {
    return "does not have the hash of the one before: one of both was changed or exchanged";
  }
  const lost = entry.kind === "key" ? textIn(entry.body, "lost") : "";
  if (lost !== "" && lost !== keyId) return `says that ${lost} was lost; the key there is ${keyId}`;
  // A key that replaces a lost one names itself.
  const signer = lost === "" && keyId !== undefined ? keyId : textIn(entry.body, "keyId");
  if (number === 0n && entry.kind !== "key") return "is not of the kind key";
  if (entry.keyId !== signer) return `is signed by ${entry.keyId}; the key there is ${signer}`;
  const publicKey = keys.get(signer);
  if (publicKey === undefined) return `is signed by ${signer}, which deployment_keys lacks`;
  if (keyIdOf(publicKey) !== signer) return `is signed by ${signer}, whose public key was changed`;
  if (entry.kind === "key" && keyIdOf(textIn(entry.body, "publicKey")) !== entry.body.keyId) {
    return "names a public key and the id of another one";
  }
  if (!isSigned(entry.signature, canonicalJson(signedEntry(entry)), publicKey)) {
    return `does not have a signature of ${signer}: it was changed`;
  }
  // Queries below cast it to a number.
  if (OF_CHECKPOINTS.has(entry.kind) && !CHECKPOINT.test(textIn(entry.body, "checkpoint"))) {
    return "is about a checkpoint that is no number: it was signed by something else";
  }
  if (entry.kind === "correction" && entry.body.of === "key") {
    const { keyId: revoked, from } = entry.body;
    if (revoked === signer) return "revokes the key that signed it";
    if (typeof revoked !== "string" || !keys.has(revoked)) {
      return "revokes a key that deployment_keys lacks";
    }
    if (typeof from !== "string" || !CHECKPOINT.test(from) || BigInt(from) > number) {
      return `revokes ${revoked} from an entry on that is none before it`;
    }
  }
  if (correctsRoots(entry)) {
    // Queries below read its lists.
    const [fault] = correctionFaults(entry.body);
    if (fault !== undefined) return `corrects roots in another form: ${fault}`;
    if (correctionIn(entry.body)?.roots.some(({ checkpoint }) => !CHECKPOINT.test(checkpoint))) {
      return "is about a checkpoint that is no number: it was signed by something else";
    }
  }
  return entry.at < at ? `is dated ${entry.at}, before the one before it (${at})` : null;
};

const OF_CHECKPOINTS: ReadonlySet<string> = new Set(["root", "head", "coin"]);
const CHECKPOINT = /^(0|[1-9]\d{0,17})$/;

/** Number of the last correction: later entries are about the current log. */
const SINCE = `
  coalesce((select max(number) from log_sequence
            where kind = 'correction' and body::jsonb ->> 'of' = 'log'), -1)`;

/** Each corrected root, with its entry. */
const CORRECTED = `
  (select number, body::jsonb ->> 'coinType' as coin_type, jsonb_array_elements(body::jsonb -> 'roots') as root
   from log_sequence where kind = 'correction' and body::jsonb ->> 'of' = 'root') corrected`;

/** Roots, their corrections and ends of coins are served by this index: an entry missing there would be hidden. */
const LISTED = `
  select 'entry ' || number || ' of the sequence (' || kind || ') '
         || case when entry is null then 'is not that of its row in coin_entries' else 'has no row in coin_entries' end as what
  from (select number, case when body::jsonb ->> 'version' = '1' then 'root1' else kind end as kind,
               body::jsonb ->> 'coinType' as coin_type, (body::jsonb ->> 'checkpoint')::int8 as checkpoint,
               number as entry
        from log_sequence where kind in ('root', 'coin')
        union all
        select number, case when root ->> 'version' = '1' then 'corrected1' else 'corrected' end, coin_type,
               (root ->> 'checkpoint')::int8, number
        from ${CORRECTED}) entries
  full join (select *, number as row from coin_entries) listed using (number, kind, coin_type, checkpoint)
  where entry is null or row is null order by number limit 1`;

/** A table of signed rows, each with its entry unless signed before the sequence began. */
type Beside = {
  readonly table: string;
  /** Commitment in entry number 0. */
  readonly committed: string;
  /** Rows without an entry, in the order and with the members that were hashed. */
  readonly before: string;
  /** First entry whose row is missing or different. */
  readonly rowless: string;
};

const rowless = (table: string, kind: string, entries: string, same: string) => `
  select 'entry ' || min(e.number) || ' of the sequence (${kind}) has no row in ${table}: it was deleted or changed' as what
  from ${entries} e where not exists (select from ${table} r where ${same})
  having count(*) > 0`;

const ROOT_ENTRIES = `
  (select number, body::jsonb ->> 'coinType' as coin_type, (body::jsonb ->> 'checkpoint')::int8 as checkpoint,
          body::jsonb as body
   from log_sequence where kind = 'root' and body::jsonb ->> 'version' = '1')`;

const ROOTS: Beside = {
  table: "published_roots",
  committed: "select body::jsonb -> 'roots' as said from log_sequence where number = 0",
  before: `
    select r.coin_type as "coinType", r.checkpoint::text as checkpoint,
           checkpoint_digest as "checkpointDigest", root, total, key_id as "keyId", signature
    from published_roots r left join ${ROOT_ENTRIES} e
      on (r.coin_type, r.checkpoint, r.root, r.total)
         = (e.coin_type, e.checkpoint, e.body ->> 'root', e.body ->> 'total')
        and e.number > r.correction
        and not exists (select from coin_entries c
                        where c.kind = 'corrected1' and c.coin_type = r.coin_type and c.checkpoint = r.checkpoint
                          and c.number > r.correction and c.number < e.number)
    where e.number is null order by r.coin_type collate "C", r.checkpoint`,
  rowless: rowless(
    "published_roots",
    "root",
    ROOT_ENTRIES,
    `(r.coin_type, r.checkpoint) = (e.coin_type, e.checkpoint) and e.body @> jsonb_build_object(
       'checkpointDigest', r.checkpoint_digest, 'root', r.root, 'total', r.total)`,
  ),
};

const HEAD_ENTRIES = `
  (select number, (body::jsonb ->> 'checkpoint')::int8 as checkpoint, body::jsonb ->> 'hash' as hash, at
   from log_sequence where kind = 'head' and number > ${SINCE})`;

const HEADS: Beside = {
  table: "log_heads",
  // Heads of a replaced log are gone.
  committed: `
    select body::jsonb -> 'heads' as said from log_sequence where number = 0 and ${SINCE} < 0`,
  before: `
    select r.checkpoint::text as checkpoint, encode(r.hash, 'hex') as hash, key_id as "keyId", signature
    from log_heads r left join ${HEAD_ENTRIES} e using (checkpoint)
    where e.number is null order by r.checkpoint`,
  rowless: rowless(
    "log_heads",
    "head",
    HEAD_ENTRIES,
    "r.checkpoint = e.checkpoint and encode(r.hash, 'hex') = e.hash",
  ),
};

/**
 * A head's shown time is not signed, but its entry's is. One is the database's clock; the other the
 * process's, or the previous entry's time where that clock was set back.
 */
const HEADS_DATED = `
  select 'log_heads dates the head of checkpoint ' || r.checkpoint || ' '
         || to_char(r.signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
         || ', but entry ' || e.number || ' of the sequence ' || e.at as what
  from ${HEAD_ENTRIES} e join log_heads r using (checkpoint)
  where abs(extract(epoch from r.signed_at - e.at::timestamptz)) > 3600
    and e.at > (select at from log_sequence p where p.number = e.number - 1)
  order by e.number limit 1`;

/** Rows without an entry must be those that entry 0 commits to; without entry 0, none. */
const committedFault = async (sql: Sql, { table, committed, before }: Beside) => {
  const [row] = await sql.unsafe<{ said: Commitment | null }[]>(committed);
  const said = row?.said ?? null;
  const count = said?.count ?? "0";
  const is = await commitmentTo(sql, before);
  if (is.count === count && (said === null || is.sha256 === said.sha256)) return null;
  const how = Number(is.count) > Number(count) ? "added" : "deleted, changed or exchanged";
  return `${table} has ${is.count} rows that are no entries of the sequence, and entry 0 commits to ${count}: one was ${how}`;
};

/** A corrected version-1 root has the values of its correction. */
const UNCORRECTED = `
  select 'published_roots has a root of ' || coin_type || ' at checkpoint ' || checkpoint
         || ' as corrected by entry ' || correction || ', which does not say so' as what
  from published_roots r
  where correction <> -1 and not exists (
    select from ${CORRECTED}
    where number = r.correction and coin_type = r.coin_type and root @> jsonb_build_object(
      'version', '1', 'checkpoint', r.checkpoint::text,
      'to', jsonb_build_object('root', r.root, 'total', r.total)))
  order by coin_type, checkpoint limit 1`;

/** Corrections of roots, and everything about the corrected ones. */
const ABOUT_CORRECTED = `
  select number from log_sequence where kind = 'correction' and body::jsonb ->> 'of' = 'root'
  union
  select number from coin_entries
  where (kind, coin_type, checkpoint) in (
    select case kind when 'corrected' then 'root' else 'root1' end, coin_type, checkpoint
    from coin_entries where kind in ('corrected', 'corrected1'))
  order by number`;

/** Corrected roots of version 1 from before the sequence: entry 0 commits to them. */
const BEFORE_ENTRIES = `
  select coin_type as "coinType", checkpoint::text as checkpoint, checkpoint_digest as "checkpointDigest", root, total
  from published_roots r
    join (select coin_type, checkpoint, min(number) as first from coin_entries where kind = 'corrected1'
          group by coin_type, checkpoint) c using (coin_type, checkpoint)
  where correction = -1 and not exists (
    select from coin_entries e where e.kind = 'root1' and e.coin_type = r.coin_type and e.checkpoint = r.checkpoint
      and e.number < c.first)`;

/** First contradiction between roots and their corrections; null if none. */
const correctionFault = async (on: Reading): Promise<string | null> => {
  const rows = await on.sql.unsafe<{ number: bigint }[]>(ABOUT_CORRECTED);
  const numbers = rows.map(({ number }) => number);
  const said = new RootsSaid();
  for (const root of await on.sql.unsafe<Omit<Root, "chainId">[]>(BEFORE_ENTRIES)) {
    const body = rootBody1({ ...root, chainId: "" });
    said.add({ number: "0", kind: "root", body, at: "" }, { isWhole: true });
  }
  for (let at = 0; at < numbers.length; at += PAGE) {
    const entries = await entriesAt(on, numbers.slice(at, at + PAGE));
    for (const number of numbers.slice(at, at + PAGE)) {
      const entry = entries.get(number);
      const what = entry && said.add(entry, { isWhole: true });
      if (what) return `entry ${number} of the sequence ${what}`;
    }
  }
  return null;
};

const EXCHANGED = `
  select 'entries ' || min(number) || ' and ' || max(number) || ' of the sequence (' || kind
         || ') say different things of the same checkpoint: one was signed in the place of the other' as what
  from log_sequence
  where (kind = 'root' and not exists (select from coin_entries e join coin_entries c using (coin_type, checkpoint)
                                       where e.number = log_sequence.number
                                         and (e.kind, c.kind) in (('root', 'corrected'), ('root1', 'corrected1'))))
     or (kind in ('head', 'coin') and number > ${SINCE})
  group by kind, body::jsonb ->> 'coinType', body::jsonb ->> 'checkpoint', body::jsonb ->> 'version'
  having count(distinct body::jsonb - 'chainId') > 1
  order by min(number) limit 1`;
