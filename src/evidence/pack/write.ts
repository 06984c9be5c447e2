/** Writes an audit pack: a register at two checkpoints, the events between, and their proof. */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { CompletenessCertificate } from "../../../client/completeness.ts";
import { signedPack } from "../../../client/pack-files.ts";
import { PACK_FORMAT, type PackFile, type PackManifest } from "../../../client/pack-forms.ts";
import { allActs, publishActs } from "../../audit/sequence/acts.ts";
import { publishCoinEnd } from "../../audit/sequence/coin-entries.ts";
import type { DeploymentKey } from "../../audit/sequence/deployment-key.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import { publishRoots, type Roots, tableRoots } from "../../audit/sequence/table-roots.ts";
import type { Database, Sql } from "../../database/connect.ts";
import { TREASURY } from "../../ledger/contract/names.ts";
import type { Committee } from "../../ledger/proof/committee.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import {
  type CoinTransactions,
  coinTransactions,
  coinTransactionsIn,
  nextChanges,
  objectsOfCoin,
} from "../../log/coin-facts.ts";
import { type BalanceChange, balanceChanges } from "../../projections/balance-changes.ts";
import { capTableJson, readCapTable, type TableOf } from "../../projections/cap-table-json.ts";
import { createCapTables } from "../../projections/cap-tables.ts";
import { pipelineDigest } from "../../projections/digests.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { QuarantinedError } from "../../projections/held-coins.ts";
import { type HolderEvent, holderEvents } from "../../projections/holder-events.ts";
import { leftOutOfCoin } from "../../projections/left-out-facts.ts";
import { membershipsAt } from "../../projections/memberships.ts";
import { readMeta } from "../../projections/meta.ts";
import {
  ALL,
  FOR_BALANCES,
  FOR_CAP_TABLES,
  FOR_HOLDERS,
  FOR_ROLES,
} from "../../projections/needed.ts";
import { positionsEnd } from "../../projections/position.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { type RoleEventRow, roleEvents, rolesAt } from "../../projections/roles.ts";
import { writeNewFolder } from "../exports/new-folder.ts";
import { ChainUnknownError } from "../statement/statement.ts";
import { checkContents, type Outcome } from "./check.ts";
import {
  CHECKPOINTS,
  EPOCHS,
  FILES,
  filesOf,
  hashed,
  LATER,
  OBJECTS,
  openFiles,
  type PackHead,
} from "./form.ts";
import {
  holderEventLine,
  movementLine,
  roleEventLine,
  type StateItem,
  sinceOf,
  stateLine,
} from "./lines.ts";
import { reportOf } from "./report.ts";
import { writeExcerpts } from "./source.ts";

type PackRequest = {
  /** Both of one coin; `first` precedes `last`. */
  readonly first: TableOf;
  readonly last: TableOf;
  readonly packages: readonly string[];
  readonly source: CheckpointSource;
  /** The initial committee, if given. */
  readonly committee: Committee | undefined;
  readonly opening: PackHead["opening"];
  /** The issuer's file of holders' names; the manifest holds only its hash. */
  readonly holderNames: string | undefined;
  /** Of the last register's checkpoint, for a whole opening; checked with the pack. */
  readonly certificate: CompletenessCertificate | undefined;
  /** Absent, or an empty folder. */
  readonly folder: string;
};

/**
 * Writes a pack and checks it before it appears.
 * @throws FolderInUseError, PackSourceError (stop), CommitteeError (stop), RootConflictError
 * (stop), ChainUnknownError (wait), AuditPackError (stop) if database and ledger differ
 */
export const writePack = (
  database: Database,
  key: DeploymentKey,
  request: PackRequest,
  signal: AbortSignal,
): Promise<Outcome> =>
  writeNewFolder(request.folder, async (folder) => {
    const { first, last, packages, opening, holderNames, certificate } = request;
    const { chainId } = await readMeta(database.db);
    if (chainId === null) throw new ChainUnknownError();
    for (const name of ["first", "last", CHECKPOINTS, EPOCHS, LATER, OBJECTS])
      await mkdir(join(folder, name));
    const state = await stateAt(database, first);
    const lines = (file: string, texts: Iterable<string> | AsyncIterable<string>) =>
      writeFile(join(folder, file), ended(texts));
    await lines(FILES.firstState, state.map(stateLine));
    await lines(FILES.movements, movementsBetween(database, request));
    await lines(FILES.holderEvents, holderEventsBetween(database, request));
    await lines(FILES.roleEvents, roleEventsBetween(database, request));
    const roots = {
      first: await writeTable(database, chainId, first, join(folder, FILES.firstTable)),
      last: await writeTable(database, chainId, last, join(folder, FILES.lastTable)),
    };
    const trust = await writeExcerpts(
      folder,
      {
        source: request.source,
        given: request.committee,
        wanted: wantedOf(database, request, state),
        last: last.mark.sequence,
        heads: certificate === undefined ? new Map() : await headsAt(database, last),
      },
      signal,
    );
    const published = await database.transaction(async ({ sql }) => {
      // Before publishing: no root may cover changed facts.
      const coinChain = opening === "whole" ? await coinChainAt(sql, key, chainId, last) : null;
      const first = await publishTable(sql, key, roots.first);
      const published = {
        coinChain,
        roots: { first, last: await publishTable(sql, key, roots.last) },
      };
      await publishActs(sql, key);
      await lines(FILES.acts, actsOn(sql, last.coinType));
      if (certificate !== undefined) await lines(FILES.certificate, [canonicalJson(certificate)]);
      return published;
    });
    const head: PackHead = {
      format: PACK_FORMAT,
      version: certificate === undefined ? 3 : 4,
      chainId,
      coinType: last.coinType,
      packages: [...packages],
      first: markOf(first),
      last: markOf(last),
      opening,
      trust,
      digests: { first: await digestsAt(database, first), last: await digestsAt(database, last) },
      ...published,
      holderNames: holderNames === undefined ? null : await hashed(holderNames),
      keyId: key.keyId,
      publicKey: key.publicKey,
    };
    const outcome = await checkContents(await openFiles(folder), head, last.decimals);
    await writeFile(join(folder, FILES.report), reportOf(head, outcome));
    await sign(folder, key, { ...head, files: await hashesOf(folder) });
    return outcome;
  });

async function* ended(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

/**
 * The end of the coin's fact chain as a sequence entry: anyone who keeps it can check the pack
 * against it.
 */
const coinChainAt = async (
  sql: Sql,
  key: DeploymentKey,
  chainId: string,
  { coinType, mark: { sequence: checkpoint } }: TableOf,
): Promise<NonNullable<PackHead["coinChain"]>> => {
  const { number, body } = await publishCoinEnd(sql, key, { chainId, coinType, checkpoint });
  return { facts: textIn(body, "facts"), hash: textIn(body, "hash"), entry: number };
};

const markOf = ({ mark: { sequence, digest, timestampMs } }: TableOf): PackHead["first"] => ({
  checkpoint: `${sequence}`,
  digest,
  timestampMs: `${timestampMs}`,
});

/** Objects, memberships and roles at a checkpoint. */
const stateAt = async (
  { sql }: Database,
  { coinType, mark: { sequence } }: TableOf,
): Promise<readonly StateItem[]> => {
  const leftOut = await leftOutOfCoin(sql, coinType);
  const objects = await objectsOfCoin(sql, coinType, sequence, [...leftOut]);
  const memberships = await membershipsAt(sql, coinType, sequence);
  const roles = await rolesAt(sql, coinType, sequence);
  return [
    ...objects.map((fact): StateItem => ({ kind: "object", fact })),
    ...memberships.map((range): StateItem => ({ kind: "membership", range })),
    ...roles.map((range): StateItem => ({ kind: "role", range })),
  ];
};

/** Versions of the coin's live objects. */
const headsAt = async (
  { sql }: Database,
  { coinType, mark: { sequence } }: TableOf,
): Promise<ReadonlyMap<string, bigint>> =>
  new Map(
    (await objectsOfCoin(sql, coinType, sequence)).map(({ objectId, version }) => [
      objectId,
      version,
    ]),
  );

/**
 * The pack's checkpoints: those that made the first register, both ends, all between, and with a
 * certificate those that changed its objects next.
 */
async function* wantedOf(
  { sql }: Database,
  { first, last, opening, certificate }: PackRequest,
  state: readonly StateItem[],
): AsyncGenerator<CoinTransactions> {
  const { coinType } = last;
  const [after, upTo] = [first.mark.sequence, last.mark.sequence];
  if (opening === "proven") {
    const since = new Set(state.map(sinceOf));
    since.delete(after);
    const ascending = [...since].sort((a, b) => (a < b ? -1 : 1));
    yield* coinTransactionsIn(sql, coinType, ascending);
  }
  const before = opening === "whole" ? -1n : after - 1n;
  yield* withEnd(coinTransactions(sql, { coinType, after: before, upTo: after }), after);
  yield* withEnd(coinTransactions(sql, { coinType, after, upTo }), upTo);
  if (certificate !== undefined) {
    yield* await nextChanges(sql, {
      ...{ coinType, after: upTo, foremost: TREASURY, most: LATER_CHECKPOINTS },
    });
  }
}

/** Bounds what a pack fetches beyond its last checkpoint. */
const LATER_CHECKPOINTS = 300;

/** The last checkpoint is included even without facts. */
async function* withEnd(
  all: AsyncIterable<CoinTransactions>,
  end: bigint,
): AsyncGenerator<CoinTransactions> {
  let last = -1n;
  for await (const one of all) {
    yield one;
    last = one.checkpoint;
  }
  if (last !== end) yield { checkpoint: end, transactions: [] };
}

/** Rows of each kind in memory. */
const PAGE_ROWS = 5_000;

/** Lines of the rows between the registers, read page by page. */
async function* linesBetween<Row extends { readonly position: bigint }>(
  { first, last }: PackRequest,
  lineOf: (row: Row) => string,
  read: (after: Row | undefined, begin: bigint) => Promise<readonly Row[]>,
): AsyncGenerator<string> {
  const [begin, end] = [positionsEnd(first.mark.sequence), positionsEnd(last.mark.sequence)];
  for (let after: Row | undefined; ; ) {
    const rows = await read(after, begin);
    for (const row of rows) {
      if (row.position >= end) return;
      yield lineOf(row);
    }
    after = rows.at(-1);
    if (rows.length < PAGE_ROWS) return;
  }
}

/** Refused where the coin is held by then. */
const readsOf = ({ db }: Database, { last }: PackRequest, pipelines: readonly ProgressTables[]) =>
  guardedReads(db, pipelines).ofCoin(last.coinType).at(last.mark.sequence);

const movementsBetween = (database: Database, request: PackRequest) => {
  const on = readsOf(database, request, FOR_BALANCES);
  const page = { coinType: request.last.coinType, limit: PAGE_ROWS, order: "asc" } as const;
  return linesBetween<BalanceChange>(request, movementLine, (after, begin) =>
    balanceChanges(on, { ...page, after: after ?? { position: begin, owner: "", part: "TOKENS" } }),
  );
};

const holderEventsBetween = (database: Database, request: PackRequest) => {
  const on = readsOf(database, request, FOR_HOLDERS);
  const page = { coinType: request.last.coinType, limit: PAGE_ROWS };
  return linesBetween<HolderEvent>(request, holderEventLine, (after, begin) =>
    holderEvents(on, { ...page, after: after?.position ?? begin - 1n }),
  );
};

const roleEventsBetween = (database: Database, request: PackRequest) => {
  const on = readsOf(database, request, FOR_ROLES);
  const page = { coinType: request.last.coinType, packages: [], limit: PAGE_ROWS };
  return linesBetween<RoleEventRow>(request, roleEventLine, (after, begin) =>
    roleEvents(on, { ...page, after: after?.position ?? begin - 1n }),
  );
};

/** Acts on the coin and on the whole deployment, from the first. */
async function* actsOn(sql: Sql, coinType: string) {
  for await (const act of allActs(sql, coinType)) yield canonicalJson(act);
}

/** Writes a cap table and computes its roots. */
const writeTable = async (
  database: Database,
  chainId: string,
  table: TableOf,
  path: string,
): Promise<Roots> => {
  const tables = createCapTables();
  const { coinType, mark } = table;
  const on = guardedReads(database.db, FOR_CAP_TABLES).ofCoin(coinType).at(mark.sequence);
  const { head, rows } = await readCapTable(on, table, tables);
  const pieces = async function* () {
    for await (const { data } of capTableJson(head, rows)) yield data;
  };
  await writeFile(path, pieces());
  return tableRoots(database, chainId, table, tables);
};

const publishTable = async (
  sql: Sql,
  key: DeploymentKey,
  roots: Roots,
): Promise<PackHead["roots"]["first"]> => {
  const { signature } = await publishRoots(sql, key, roots);
  const { root, total } = roots.version1;
  return { root, total, signature };
};

/** A pipeline that holds any coin by then has no digest. */
const digestsAt = async ({ db }: Database, { mark }: TableOf): Promise<Record<string, string>> => {
  const digests: Record<string, string> = {};
  for (const pipeline of ALL) {
    try {
      digests[pipeline.name] = await pipelineDigest(db, pipeline, mark.sequence);
    } catch (error) {
      if (!(error instanceof QuarantinedError)) throw error;
    }
  }
  return digests;
};

const hashesOf = async (folder: string): Promise<PackManifest["files"]> => {
  const files: Record<string, PackFile> = {};
  for (const file of await filesOf(folder)) files[file] = await hashed(join(folder, file));
  return files;
};

const sign = async (folder: string, key: DeploymentKey, manifest: PackManifest): Promise<void> => {
  const text = canonicalJson(manifest);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const { signature } = await key.sign(signedPack(sha256, manifest.version));
  await writeFile(join(folder, FILES.manifest), text);
  await writeFile(join(folder, FILES.signature), `${canonicalJson({ signature })}\n`);
};
