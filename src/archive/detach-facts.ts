/**
 * Archives partitions of the facts: an archive that has them is read back and compared with the log's chain, then they
 * leave the database in one transaction with the row that says so. There is nothing between the two. An empty partition
 * takes the place of each: where a statement's range had no partition at all, Postgres would answer it without asking
 * `log_has` (log/facts-archived.ts).
 */
import { getTableName } from "drizzle-orm";
import postgres from "postgres";
import { recordAct } from "../audit/sequence/acts.ts";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import { type Blocker, lockingBriefly } from "../database/brief-locks.ts";
import { texts } from "../database/column-arrays.ts";
import type { Session, Sql } from "../database/connect.ts";
import { REPLAY_SCHEMAS } from "../database/work-schemas.ts";
import { archivedBefore, factsIn } from "../log/archived.ts";
import { chainEnd } from "../log/chain.ts";
import { type Partition, partitionsOf } from "../log/partitions.ts";
import { SECOND } from "../log/second-log.ts";
import { logArchived, logChain, logFacts, logHighWater } from "../log/tables.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { firstHeld, heldIn } from "../projections/held-coins.ts";
import {
  ArchiveRefusedError,
  assertChained,
  endsAt,
  hasIn,
  manifestIn,
} from "./archived-places.ts";
import { readChunks } from "./read-archive.ts";

export type Detaching = {
  /** Of the tables' owner. */
  readonly on: Pick<Session, "transaction" | "sql">;
  readonly folder: string;
  /** First checkpoint whose facts stay: where a partition ends. */
  readonly before: bigint;
  readonly signal: AbortSignal;
  readonly onBlocked: (blockers: readonly Blocker[]) => void;
  readonly onProgress: (next: bigint, of: bigint) => void;
};

export type Detached = { readonly partitions: readonly Partition[]; readonly facts: bigint };

/**
 * @throws ArchiveDamagedError, ArchiveRefusedError (both stop)
 */
export const detachFacts = async (detaching: Detaching): Promise<Detached> => {
  const { on, folder, before, signal, onBlocked, onProgress } = detaching;
  await assertUnused(on.sql, before);
  const due = await dueIn(on.sql, before);
  const { manifest, root } = await manifestIn(folder);
  const first = (await archivedBefore(on.sql)) ?? (await logRange(on.sql)).first;
  if (!hasIn(manifest, first, before)) {
    throw new ArchiveRefusedError(
      `${folder}: its archive does not have checkpoints ${first} to ${before - 1n}; run \`holderbook archive export --dir ${folder} --to ${before - 1n}\` before`,
    );
  }
  const borders = due.map((partition) => partition.before);
  const { ends, onLink } = endsAt(manifest, first, borders);
  for await (const { file } of readChunks(folder, manifest, { from: first, signal, onLink })) {
    onProgress(file.last + 1n, before);
    if (file.last >= before - 1n) break;
  }
  await assertChained(on.sql, folder, ends);
  const names = [...LOCKED, ...due.map(({ name }) => name)];
  return await lockingBriefly({ on, names, signal, onBlocked }, async ({ sql }) => {
    // Readers in an older snapshot have locked one of them before their first statement.
    await sql.unsafe(
      `lock table ${LOCKED.map((name) => `public.${name}`).join(", ")} in access exclusive mode`,
    );
    await assertUnused(sql, before);
    const still = await dueIn(sql, before);
    if (still.length !== due.length) {
      throw new ArchiveRefusedError("another command has archived facts meanwhile");
    }
    let facts = 0n;
    for (const { name, from, before: end } of due) {
      const own = await factsIn(sql, from, end);
      facts += own;
      await emptyPartition(sql, `public.${name}`, from, end);
      const { hash } = await chainEnd(sql, end - 1n);
      await sql`
        insert into ${sql(getTableName(logArchived))} (event, first_checkpoint, before_checkpoint, facts, hash, root)
        values ('archived', ${from}, ${end}, ${own}, ${Buffer.from(hash)}, ${root})`;
    }
    const details = { before: `${before}`, facts: `${facts}`, root };
    await recordAct(sql, { command: "archive detach", details, on: "deployment" });
    return { partitions: due, facts };
  });
};

const FACTS = getTableName(logFacts);

/** `dependent_objects_still_exist`: what others made on a partition. */
const DEPENDED_ON = "2BP01";

/** In the order in which readers and writers of the log lock them. */
const LOCKED: readonly string[] = [
  ...ledgerPipelines.map(({ watermark }) => getTableName(watermark)),
  getTableName(logHighWater),
  getTableName(logChain),
  FACTS,
];

/**
 * Exchanges a partition for an empty one with the same key, triggers and rights.
 * @throws ArchiveRefusedError (stop) where a view needs it
 */
const emptyPartition = async (
  sql: Sql,
  name: string,
  from: bigint,
  before: bigint,
): Promise<void> => {
  const facts = `public.${FACTS}`;
  const exchange = `
    alter table ${facts} detach partition ${name};
    drop table ${name};
    create table ${name} (like ${facts} including defaults including storage)`;
  await sql.unsafe(exchange).catch((error: unknown) => {
    if (!(error instanceof postgres.PostgresError && error.code === DEPENDED_ON)) throw error;
    throw new ArchiveRefusedError(
      `${error.message}: ${error.detail?.replaceAll("\n", "; ")}; drop it, and make it again on ${facts}`,
    );
  });
  const statements = await sql<{ text: string }[]>`
    select replace(pg_get_triggerdef(oid), ${` ON ${facts} `}, ${` ON ${name} `}) as text from pg_trigger
    where tgrelid = ${facts}::regclass and not tgisinternal
    union all
    select format('grant %s on %s to %s', string_agg(privilege_type, ', '), ${name}::text, grantee::regrole)
    from pg_class, aclexplode(relacl)
    where pg_class.oid = ${facts}::regclass and grantee not in (0, relowner) group by grantee`;
  for (const { text } of statements) await sql.unsafe(text);
  await sql.unsafe(
    `alter table ${facts} attach partition ${name} for values from (${from === 0n ? "minvalue" : from}) to (${before})`,
  );
};

/** @throws ArchiveRefusedError (stop) when no partition ends there */
const dueIn = async (sql: Sql, before: bigint): Promise<readonly Partition[]> => {
  const archived = (await archivedBefore(sql)) ?? 0n;
  const all = (await partitionsOf(sql)).filter(({ from }) => from >= archived);
  const due = all.filter((partition) => partition.before <= before);
  if (due.at(-1)?.before === before) return due;
  const { next } = await logRange(sql);
  const ends = all.flatMap((each) => (each.before < next ? [`${each.before}`] : []));
  throw new ArchiveRefusedError(
    ends.length === 0
      ? `--before ${before}: the log has not got beyond its first partition, so that none can be archived yet`
      : `--before ${before}: no partition of facts in the database ends there; those before the log's end end at ${ends.join(", ")}`,
  );
};

type Use = {
  readonly pipeline: string;
  readonly next: bigint;
  readonly rebuilding: boolean;
  readonly filling: boolean;
  readonly undigested: bigint | null;
  readonly held: string | null;
};

/** @throws ArchiveRefusedError (stop) when something still reads facts before this checkpoint */
const assertUnused = async (sql: Sql, before: bigint): Promise<void> => {
  const refused = (what: string) => new ArchiveRefusedError(`--before ${before}: ${what}`);
  const [guided] = await sql`select from log_guided limit 1`;
  if (guided !== undefined) {
    throw refused("the log was read guided, and its proofs and further reading need all facts");
  }
  for (const { name, watermark, layout } of ledgerPipelines) {
    const [use] = await sql<Use[]>`
      select pipeline, next_checkpoint as next, rebuilding_to is not null as rebuilding, layout < ${layout} as filling,
             undigested_from as undigested, held::text as held
      from ${sql(`public.${getTableName(watermark)}`)}`;
    if (use === undefined || use.next < before) {
      throw refused(`${name} expects checkpoint ${use?.next ?? 0n} next; let it get there before`);
    }
    if (use.rebuilding || use.filling) {
      throw refused(`${name} is being rebuilt or filled from the log; let it end before`);
    }
    const held = firstHeld(heldIn(use.held)) ?? use.undigested;
    if (held !== null && held < before) {
      throw refused(
        `${name} holds a coin in quarantine since checkpoint ${held}, whose facts it still needs; release it before (quarantine list)`,
      );
    }
  }
  const [replay] = await sql<{ schema: string }[]>`
    select relnamespace::regnamespace::text as schema from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text = any(${texts([...REPLAY_SCHEMAS, SECOND])}::text[])
    limit 1`;
  if (replay !== undefined) {
    throw refused(
      replay.schema === SECOND
        ? "a package is being added to the log (packages add); let it end before"
        : "a replay has tables; end it, or remove them with `holderbook replay drop`",
    );
  }
};
