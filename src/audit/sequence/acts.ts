/**
 * Operators' acts: who ran which command, and when. Each is recorded in the transaction of the act
 * itself, so that there is either both or neither.
 */
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { ActLine } from "../../../client/pack-forms.ts";
import type { Sql, Transactor, Tx } from "../../database/connect.ts";
import { account } from "../../settings/account.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { appendEntry, lockSequence } from "./sequence.ts";

/** Ids and names only, without secrets or free text: it is published. */
export type ActDetails = { readonly [name: string]: string | boolean | null };

export type NewAct = {
  /** As typed: `keys create`. */
  readonly command: string;
  /** At most 20, named by letters only; values are cut at 2,000 characters. */
  readonly details: ActDetails;
  /**
   * Scope: the coin (visible to its auditors only), something on an EVM chain (`project`: in no
   * pack), or all (`deployment`: in every pack, so it must not name a coin or project).
   */
  readonly on: "deployment" | "project" | { readonly coinType: string };
};

export type Act = Omit<ActLine, "entry" | "scope"> & {
  readonly scope: "deployment" | "coin" | "project";
};

/** Advisory lock for numbering acts; an arbitrary constant of this project. */
const ACTS_LOCK = 6_204_117_233_561n;

/** Characters that verifiers reject: all but visible ASCII, and the backtick. */
const OTHERS = /[^ -_a-~]/gu;

/** Text as acts and corrections publish it: other characters are escaped, and the end is cut. */
export const plain = (text: string, most: number): string => {
  const shown = text
    .replaceAll("…", "...")
    .replace(OTHERS, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
  return shown.length > most ? `${shown.slice(0, most - 3)}...` : shown;
};

/**
 * Records an act. Call it last in the transaction: it blocks other acts until the commit.
 * @param sql of the transaction that performs the act
 */
export const recordAct = async (sql: Sql, { command, details, on }: NewAct): Promise<void> => {
  await sql`select pg_advisory_xact_lock(${ACTS_LOCK})`;
  const [last] = await sql<{ number: bigint; at: string; role: string }[]>`
    select coalesce(max(number), 0) as number, session_user::text as role,
           greatest(max(at collate "C"), to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') collate "C") as at
    from operator_acts`;
  if (last === undefined) throw new Error("an aggregate gave no row");
  const asked = Object.entries(details).map(([name, value]) => [
    name,
    typeof value === "string" ? plain(value, 2_000) || null : value,
  ]);
  const by = {
    user: plain(account(), 200),
    host: plain(hostname(), 255),
    role: plain(last.role, 200),
  };
  const scope = typeof on === "string" ? on : "coin";
  await sql`
    insert into operator_acts (number, at, command, details, by, scope, coin_type, salt)
    values (${last.number + 1n}, ${last.at}, ${command}, ${canonicalJson(Object.fromEntries(asked))},
            ${canonicalJson(by)}, ${scope}, ${typeof on === "string" ? null : on.coinType},
            ${randomBytes(16).toString("hex")})`;
};

/**
 * Performs an act in one transaction and records it there.
 * @param work returns the result and the act; null if nothing was done. `within` runs nested
 * transactions in this one
 */
export const acting = <Done>(
  on: Pick<Transactor, "transaction">,
  work: (
    tx: Tx,
    within: Pick<Transactor, "transaction">,
  ) => Promise<readonly [done: Done, act: NewAct | null]>,
): Promise<Done> =>
  on.transaction(async (tx) => {
    const [done, act] = await work(tx, { transaction: (inner) => inner(tx) });
    if (act !== null) await recordAct(tx.sql, act);
    return done;
  });

/** Runs one transaction and records this act in it. */
export const recordingOn = (
  on: Pick<Transactor, "transaction">,
  act: NewAct,
): Pick<Transactor, "transaction"> => ({
  transaction: (work) => acting(on, async (tx) => [await work(tx), act]),
});

/** Scope of the act that created this id; undefined if none is recorded. */
export const scopeOfMade = async (sql: Sql, id: string): Promise<NewAct["on"] | undefined> => {
  const [row] = await sql<Pick<Act, "scope" | "coinType">[]>`
    select scope, coin_type as "coinType" from operator_acts
    where command = 'keys create' and details::jsonb ->> 'id' = ${id} limit 1`;
  if (row?.scope === "coin") return { coinType: row.coinType ?? "" };
  return row?.scope;
};

/** A command's newest act after a number, and its age; undefined without one. */
export const lastActOf = async (
  sql: Sql,
  command: string,
  after: bigint,
): Promise<
  { readonly number: bigint; readonly details: ActDetails; readonly ageMs: number } | undefined
> => {
  const [row] = await sql<{ number: bigint; details: string; ageMs: number }[]>`
    select number, details,
           (extract(epoch from clock_timestamp() - at::timestamptz) * 1000)::float8 as "ageMs"
    from operator_acts
    where command = ${command} and number > ${after} order by number desc limit 1`;
  return row && { ...row, details: JSON.parse(row.details) };
};

type Row = Omit<Act, "number" | "details" | "by"> & {
  readonly number: bigint;
  readonly details: string;
  readonly by: string;
  readonly entry: bigint | null;
};

const actOf = ({ number, details, by, entry, ...row }: Row): Act & Pick<ActLine, "entry"> => ({
  number: `${number}`,
  ...row,
  details: JSON.parse(details),
  by: JSON.parse(by),
  entry: entry === null ? null : `${entry}`,
});

/** Each act with the sequence entry that published it; null if unpublished. */
const ACTS = `
  select a.number, a.at, command, details, by, scope, coin_type as "coinType", salt, min(e.number) as entry
  from operator_acts a
  left join (select number, body::jsonb ->> 'act' as act from log_sequence where kind = 'act') e
    on e.act = a.number::text`;

/**
 * Acts after a number, ascending. @param coinType limits them to this coin and the whole deployment
 */
const actsAfter = async (
  sql: Sql,
  after: bigint,
  limit: number,
  coinType: string | null = null,
): Promise<readonly (Act & Pick<ActLine, "entry">)[]> => {
  const rows = await sql.unsafe<Row[]>(
    `${ACTS} where a.number > $1 and ($2::text is null or scope = 'deployment' or coin_type = $2)
     group by a.number order by a.number limit $3`,
    [`${after}`, coinType, limit],
  );
  return rows.map(actOf);
};

const ACTS_PER_PAGE = 1_000;

/** All acts, or those on this coin and on the whole deployment. */
export async function* allActs(
  sql: Sql,
  coinType: string | null = null,
): AsyncGenerator<Act & Pick<ActLine, "entry">, void> {
  for (let after = 0n; ; ) {
    const acts = await actsAfter(sql, after, ACTS_PER_PAGE, coinType);
    yield* acts;
    after = BigInt(acts.at(-1)?.number ?? 0);
    if (acts.length < ACTS_PER_PAGE) return;
  }
}

/** SHA-256, hex, of an act's RFC 8785 JSON without `entry`. */
export const actHash = ({ number, at, command, details, by, scope, coinType, salt }: Act): string =>
  createHash("sha256")
    .update(canonicalJson({ number, at, command, details, by, scope, coinType, salt }))
    .digest("hex");

const PUBLISHED = `
  coalesce((select (body::jsonb ->> 'act')::int8 from log_sequence
            where kind = 'act' and body::jsonb ->> 'act' ~ '^[0-9]{1,18}$' order by number desc limit 1), 0)`;

/** Number of the last published act; 0 before the first. */
const lastPublished = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql.unsafe<{ published: bigint }[]>(`select ${PUBLISHED} as published`);
  return row?.published ?? 0n;
};

/** Effectively unlimited. */
const MOST_ACTS = 1_000_000;

/** Number of unpublished acts. */
export const unpublishedActs = async (sql: Sql): Promise<number> => {
  const [row] = await sql.unsafe<{ count: number }[]>(
    `select count(*)::int4 as count from operator_acts where number > ${PUBLISHED}`,
  );
  return row?.count ?? 0;
};

/**
 * Publishes acts in order; returns whether some are left.
 * @param sql of a transaction
 * @param most limit: other appends to the sequence wait meanwhile
 * @throws SequenceLostError (stop), SequenceKeyError (stop)
 */
export const publishActs = async (
  sql: Sql,
  key: DeploymentKey,
  most = MOST_ACTS,
): Promise<boolean> => {
  if ((await unpublishedActs(sql)) === 0) return false;
  // Concurrent publishers would find the same acts unpublished.
  await lockSequence(sql);
  const acts = await actsAfter(sql, await lastPublished(sql), most);
  for (const act of acts) {
    await appendEntry(sql, key, "act", { act: act.number, sha256: actHash(act) });
  }
  return acts.length === most;
};

/**
 * Records an act and publishes it, after those before it, in one transaction; returns it with its entry.
 * @throws SequenceLostError (stop), SequenceKeyError (stop)
 */
export const signedAct = (
  on: Pick<Transactor, "transaction">,
  key: DeploymentKey,
  act: NewAct,
): Promise<Act & Pick<ActLine, "entry">> =>
  on.transaction(async ({ sql }) => {
    // Before the acts' lock, in the order of a change of keys.
    await lockSequence(sql);
    await recordAct(sql, act);
    await publishActs(sql, key);
    const [row] = await sql<{ last: bigint }[]>`select max(number) as last from operator_acts`;
    const [recorded] = await actsAfter(sql, (row?.last ?? 0n) - 1n, 1);
    if (recorded === undefined) throw new Error("operator_acts lacks the act just recorded");
    return recorded;
  });

/** Tolerated clock difference between the database and the signing process, milliseconds. */
export const CLOCKS_MS = 3_600_000;

type Entry = {
  readonly number: bigint;
  readonly act: string;
  readonly sha256: string;
  readonly at: string;
};

/** First act, or entry about one, that is wrong; null if all are right. */
export const actFault = async (sql: Sql): Promise<string | null> => {
  const entries = await sql<Entry[]>`
    select number, coalesce(body::jsonb ->> 'act', '') as act,
           coalesce(body::jsonb ->> 'sha256', '') as sha256, at
    from log_sequence where kind = 'act' order by number`;
  // Read before the acts: acts published meanwhile are skipped.
  const last = entries.at(-1)?.act ?? "";
  const published = /^\d{1,18}$/.test(last) ? BigInt(last) : 0n;
  let place = 0;
  let [number, at] = [0n, ""];
  for (let page: Awaited<ReturnType<typeof actsAfter>> = []; ; ) {
    try {
      page = await actsAfter(sql, number === 0n ? LOWEST : number, ACTS_PER_PAGE);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return `operator_acts has a row behind number ${number} that is no JSON: it was changed`;
    }
    for (const act of page) {
      const what = `act ${act.number} in operator_acts`;
      if (act.number !== `${number + 1n}`) {
        return `${what} comes where number ${number + 1n} should: an act was deleted or renumbered`;
      }
      if (act.at < at) return `${what} is dated ${act.at}, before the one before it (${at})`;
      [number, at] = [BigInt(act.number), act.at];
      if (number > published) continue;
      const entry = entries[place];
      place += 1;
      if (entry?.act !== act.number) {
        return `${what} has no entry in the sequence, and later acts have: it was invented, or entered twice`;
      }
      if (entry.sha256 !== actHash(act)) {
        return `${what} has another hash than entry ${entry.number} of the sequence: it was changed`;
      }
      if (Date.parse(entry.at) < Date.parse(at) - CLOCKS_MS) {
        return `${what} is dated ${at}, and entry ${entry.number}, which published it, ${entry.at}`;
      }
    }
    if (page.length < ACTS_PER_PAGE) break;
  }
  const entry = entries[place];
  return entry === undefined
    ? null
    : `entry ${entry.number} of the sequence (act) names act ${entry.act}, which operator_acts does not have: it was deleted`;
};

/** Below every row number. */
const LOWEST = -(2n ** 63n);
