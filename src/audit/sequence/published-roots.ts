/**
 * Published, signed roots of cap tables: public, so that all holders see the same one. A coin has
 * one root per checkpoint, for ever: a sequence entry, or signed before the sequence began. Only a signed
 * correction puts another in its place.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { type Root2, rootBody, rootBody1, signedRoot } from "../../../client/verify-statement.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import type { LogFault } from "../../log/chain.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import {
  appendOnce,
  type CoinPage,
  coinEntries,
  coinEntry,
  correctionsOf,
  lastCorrectionOf,
  type RootCorrected,
} from "./coin-entries.ts";
import { type DeploymentKey, isSigned, type Signature } from "./deployment-key.ts";
import { type EntryBody, type SequenceEntry, textIn } from "./sequence.ts";

/** Numbers are decimal texts. */
export type Root = Parameters<typeof signedRoot>[0];

export type PublishedRoot = Root & {
  readonly keyId: string;
  /** By the key that signed it first. */
  readonly signature: string;
  /** ISO 8601. */
  readonly signedAt: string;
  /** Number of the publishing sequence entry; null: signed before the sequence began. */
  readonly number: string | null;
  /** In the order of their entries; the last one says which root holds. */
  readonly corrections: readonly RootCorrected[];
};

/**
 * The database gives another root for this coin and checkpoint than the published one: it was
 * altered, or this program has a defect. Nothing is signed. Stop: reconcile the register, and
 * compare it with another deployment.
 */
export class RootConflictError extends Error {
  override readonly name = "RootConflictError";
  readonly remedy: Remedy = "stop";

  constructor(published: StoredRoot, made: StoredRoot & Pick<Root, "coinType" | "checkpoint">) {
    const one = ({ root, total, checkpointDigest }: StoredRoot) =>
      `root ${root}, total ${total}, checkpoint digest ${checkpointDigest}`;
    super(
      `the cap table of ${made.coinType} at checkpoint ${made.checkpoint} was signed before with ${one(published)}; now it has ${one(made)}. The database was altered, or there is a defect: run \`holderbook reconcile\`, and compare with another deployment`,
    );
  }
}

/** Members compared between two roots of one token and checkpoint. */
export type StoredRoot = Pick<PublishedRoot, "root" | "total" | "checkpointDigest">;

const comparedOf = (body: EntryBody): StoredRoot => ({
  checkpointDigest: textIn(body, "checkpointDigest"),
  root: textIn(body, "root"),
  total: textIn(body, "total"),
});

/**
 * A key reached its daily limit of new roots, which stay public for ever. Nothing was signed. Wait:
 * the next day begins at midnight UTC; statements with a published root do not count.
 */
export class RootsOfDayError extends Error {
  override readonly name = "RootsOfDayError";
  readonly remedy: Remedy = "wait";
  /** Seconds until the next day, rounded up. */
  readonly retryAfterSeconds: number;

  constructor(most: number) {
    super(
      `this key has published ${most} new roots today (UTC), the most that ROOTS_PER_DAY allows; nothing was signed. Ask for a checkpoint whose root is at /roots, or again tomorrow`,
    );
    this.retryAfterSeconds = Math.ceil(DAY_SECONDS - ((Date.now() / 1_000) % DAY_SECONDS));
  }
}

const DAY_SECONDS = 24 * 60 * 60;

/** Daily limit (UTC) of new roots per caller. */
export type RootQuota = {
  /** `api_keys.id`. */
  readonly askedBy: string;
  readonly perDay: number;
};

/**
 * Signs and publishes a root, unless it is already published.
 * @param sql of a transaction
 * @param quota of the calling key; commands have none
 * @throws RootConflictError (stop), RootsOfDayError (wait)
 */
export const publishRoot = async (
  sql: Sql,
  key: DeploymentKey,
  made: Root,
  quota?: RootQuota,
): Promise<Signature> => {
  const { coinType, checkpoint, checkpointDigest, root, total } = made;
  const signature = await key.sign(signedRoot(made));
  const [published] = await sql<(StoredRoot & { correction: bigint })[]>`
    select root, total, checkpoint_digest as "checkpointDigest", correction from published_roots
    where coin_type = ${coinType} and checkpoint = ${checkpoint} order by correction desc limit 1`;
  const last = await lastCorrectionOf(sql, {
    ...{ kind: "root1", coinType, checkpoint: BigInt(checkpoint) },
  });
  const correction = BigInt(last?.number ?? -1);
  if (published !== undefined) {
    const said = correction > published.correction ? { ...published, ...last?.to } : published;
    const isSame =
      said.root === root && said.total === total && said.checkpointDigest === checkpointDigest;
    if (!isSame) throw new RootConflictError(said, made);
    if (correction === published.correction) return signature;
  } else if (quota !== undefined) await countRoot(sql, quota);
  // Before the row: entry number 0 commits to roots signed without a sequence.
  await enterRoot1(sql, key, made);
  await sql`
    insert into published_roots
      (coin_type, checkpoint, checkpoint_digest, root, total, signature, key_id, correction)
    values (${coinType}, ${checkpoint}, ${checkpointDigest}, ${root}, ${total},
            ${signature.signature}, ${key.keyId}, ${correction})
    on conflict (coin_type, checkpoint, correction) do nothing`;
  return signature;
};

/**
 * Appends a root's entry to the sequence, unless this key already did; returns the entry.
 * @param sql of a transaction
 * @throws RootConflictError (stop) when another root was published
 */
const enterRoot = (
  sql: Sql,
  key: DeploymentKey,
  kind: "root" | "root1",
  made: Root,
  body: EntryBody,
): Promise<SequenceEntry> => {
  const { coinType, checkpoint } = made;
  const of = { kind, coinType, checkpoint: BigInt(checkpoint) };
  return appendOnce(
    sql,
    key,
    of,
    body,
    (before) => new RootConflictError(comparedOf(before), made),
  );
};

/** Enters a version-1 root, even if its row was deleted meanwhile: see `enterRoot`. */
const enterRoot1 = (sql: Sql, key: DeploymentKey, made: Root) =>
  enterRoot(sql, key, "root1", made, rootBody1(made));

/** Publishes a version-2 root, which is the entry alone: see `enterRoot`. */
export const publishRoot2 = (sql: Sql, key: DeploymentKey, made: Root2) =>
  enterRoot(sql, key, "root", made, rootBody(made));

/** Counts one more new root. @throws RootsOfDayError (wait) */
export const countRoot = async (sql: Sql, { askedBy, perDay }: RootQuota): Promise<void> => {
  // Over the limit no row results: neither inserted nor updated.
  const { count } = await sql`
    insert into root_counts (asked_by, day, roots)
    select ${askedBy}, (now() at time zone 'UTC')::date, 1 where ${perDay}::int4 > 0
    on conflict (asked_by) do update
      set day = excluded.day,
          roots = case when root_counts.day = excluded.day then root_counts.roots + 1 else 1 end
      where root_counts.day <> excluded.day or root_counts.roots < ${perDay}`;
  if (count === 0) throw new RootsOfDayError(perDay);
};

/** A coin's roots, newest checkpoint first; optionally below `before`. */
export const publishedRootsOf = async (
  on: Reads,
  query: CoinPage,
): Promise<readonly PublishedRoot[]> => {
  const roots = await read<Omit<PublishedRoot, "corrections">>(on, ROOTS, [
    query.coinType,
    query.before ?? null,
    query.checkpoint ?? null,
    query.limit,
  ]);
  return withCorrections(on, "root1", query.coinType, roots);
};

const withCorrections = async <Published extends Pick<Root, "checkpoint">>(
  on: Reads,
  kind: "root" | "root1",
  coinType: string,
  roots: readonly Published[],
) => {
  const at = roots.map(({ checkpoint }) => checkpoint);
  const found = await correctionsOf(on, kind, coinType, at);
  return roots.map((root) => ({ ...root, corrections: found.get(root.checkpoint) ?? [] }));
};

const ROOTS = `
  select (select chain_id from log_high_water) as "chainId", coin_type as "coinType",
         checkpoint::text as checkpoint, checkpoint_digest as "checkpointDigest", root, total,
         key_id as "keyId", signature,
         coalesce((select at from log_sequence s where s.number = e.number),
                  to_char(signed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as "signedAt",
         e.number::text as number
  from (
    select distinct on (p.checkpoint) * from published_roots p
    where coin_type = $1 and ($2::int8 is null or p.checkpoint < $2)
      and ($3::int8 is null or p.checkpoint = $3)
    order by p.checkpoint desc, correction desc limit (select $4::int8)) r
  left join lateral (
    select min(number) as number from coin_entries e
    where e.kind = 'root1' and e.coin_type = r.coin_type and e.checkpoint = r.checkpoint
      and e.number > r.correction) e on true
  order by r.checkpoint desc`;

/** Entry that published a token's root at a checkpoint; undefined if none. */
export const rootEntryOf = (
  sql: Sql,
  of: { readonly coinType: string; readonly checkpoint: bigint },
): Promise<SequenceEntry | undefined> => coinEntry(sql, { kind: "root", ...of });

/** A version-2 root with the entry that published it. */
type PublishedRoot2 = PublishedRoot & {
  readonly version: "2";
  /** Null where they were unknown then. */
  readonly decimals: string | null;
  readonly checkpointTimestampMs: string;
  readonly number: string;
  readonly previous: string;
};

/** A token's version-2 roots, newest checkpoint first; optionally below `before`. */
export const publishedRoots2 = async (
  on: Reads,
  query: CoinPage,
): Promise<readonly PublishedRoot2[]> => {
  const entries = await coinEntries(on, { kind: "root", ...query });
  const roots = entries.map(({ body, number, previous, at, keyId, signature }) => ({
    chainId: textIn(body, "chainId"),
    coinType: query.coinType,
    checkpoint: textIn(body, "checkpoint"),
    ...comparedOf(body),
    keyId,
    signature,
    signedAt: at,
    version: "2" as const,
    decimals: body.decimals === null ? null : textIn(body, "decimals"),
    checkpointTimestampMs: textIn(body, "checkpointTimestampMs"),
    number,
    previous,
  }));
  return withCorrections(on, "root", query.coinType, roots);
};

type SignedRow = Root & {
  readonly keyId: string;
  readonly signature: string;
  readonly publicKey: string;
};

const SIGNED = `
  select (select chain_id from log_high_water) as "chainId", r.coin_type as "coinType",
         r.checkpoint::text as checkpoint, r.checkpoint_digest as "checkpointDigest", r.root, r.total,
         r.key_id as "keyId", r.signature, k.public_key as "publicKey"
  from published_roots r join deployment_keys k using (key_id)`;

/** First version-1 root whose row does not match its signature; null if none. */
export const rootFault = async (sql: Sql, signal: AbortSignal): Promise<LogFault | null> => {
  const rows = sql.unsafe<SignedRow[]>(SIGNED);
  for await (const page of rows.cursor(1_000)) {
    signal.throwIfAborted();
    const wrong = page.find((row) => !isGenuine(row));
    if (wrong === undefined) continue;
    const what = `published_roots: the root of ${wrong.coinType} is not what the key ${wrong.keyId} signed: its row was changed`;
    return { checkpoint: BigInt(wrong.checkpoint), what };
  }
  return null;
};

const isGenuine = ({ keyId: _, publicKey, signature, ...root }: SignedRow): boolean =>
  isSigned(signature, canonicalJson(signedRoot(root)), publicKey);

/** Roots that another version signed without entering them in the sequence. */
const BESIDE = `
  ${SIGNED}
  where not exists (select from coin_entries e join log_sequence s using (number)
                    where e.kind = 'root1' and e.coin_type = r.coin_type and e.checkpoint = r.checkpoint
                      and s.body::jsonb @> jsonb_build_object('root', r.root, 'total', r.total))
  order by r.signed_at offset coalesce(
    (select (body::jsonb -> 'roots' ->> 'count')::int8 from log_sequence where number = 0), 9e18::int8)`;

/**
 * Appends valid roots that are neither sequence entries nor covered by the first one.
 * @param sql of a transaction
 */
export const enterRoots = async (sql: Sql, key: DeploymentKey): Promise<void> => {
  for (const row of await sql.unsafe<SignedRow[]>(BESIDE))
    if (isGenuine(row)) await enterRoot1(sql, key, row);
};
