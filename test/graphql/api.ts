import { Writable } from "node:stream";
import pino from "pino";
import { connect, type Database } from "../../src/database/connect.ts";
import { migrationsPending } from "../../src/database/migrate.ts";
import { createReaders, type Readers } from "../../src/database/readers.ts";
import { createSpread, type Spread } from "../../src/database/replicas/spread.ts";
import type { GraphSources } from "../../src/graphql/context.ts";
import { type GraphqlPart, type GraphqlPartSettings, graphqlPart } from "../../src/graphql/part.ts";
import { streamGauges } from "../../src/graphql/streams/sse.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { createKey } from "../../src/http/keys.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import type { Part } from "../../src/http/part.ts";
import { createServer, type Server } from "../../src/http/server.ts";
import { LOG_CHANNEL } from "../../src/log/append.ts";
import { LOCKED_FIRST } from "../../src/pipelines/snapshot.ts";
import { ALL } from "../../src/projections/needed.ts";
import { createReach } from "../../src/projections/reach.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

/** Package of the security token in these tests. */
export const PACKAGE = `0x${"7".padStart(64, "0")}`;

export const PIPELINES: GraphSources["pipelines"] = ALL;

/** What came back from `POST /graphql`. */
export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors:
    | readonly {
        readonly message: string;
        readonly path?: readonly (string | number)[];
        readonly extensions?: Readonly<Record<string, unknown>>;
      }[]
    | undefined;
  readonly text: string;
};

/** The service as callers see it, over HTTP, on a database of its own. */
export type Api = AsyncDisposable & {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly server: Server;
  /** Subscriptions that are open. */
  readonly streams: GraphqlPart["streams"];
  /** Undefined without replicas. */
  readonly spread: Spread | undefined;
  /** Writes rows. */
  readonly database: TestDatabase;
  readonly key: string;
  /** Lines the server logged. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  query(
    query: string,
    variables?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>;
  /** Posts any body. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
};

export const startApi = async (
  settings: {
    readonly quota?: number;
    readonly attempts?: number;
    readonly now?: () => number;
    readonly statementTimeoutMs?: number;
    readonly connections?: number;
    readonly streams?: GraphqlPartSettings["streams"];
    readonly findSummaries?: GraphSources["findSummaries"];
    /** URLs of streaming replicas of `database`. */
    readonly replicas?: readonly string[];
    readonly labelKeys?: GraphSources["labelKeys"];
    readonly agentNames?: GraphSources["agentNames"];
    /** Longest wait for `X-Min-Checkpoint`. */
    readonly reachMs?: number;
    /** Beside it. */
    readonly parts?: readonly Part[];
    /** One that is there; else a new one, which ends with the service. */
    readonly database?: TestDatabase;
  } = {},
): Promise<Api> => {
  const database = settings.database ?? (await freshDatabase());
  const connection = {
    url: database.url,
    max: settings.connections ?? 4,
    applicationName: "test-read",
    readOnly: true,
    statementTimeoutMs: settings.statementTimeoutMs ?? 5000,
  };
  const read = connect(connection);
  const { replicas } = settings;
  const spread =
    replicas &&
    createSpread({
      readers: { ...connection, lockedFirst: LOCKED_FIRST },
      replicas,
      maxLagMs: 60_000,
      primary: read.sql,
      onChange: () => undefined,
    });
  const readers = spread?.readers ?? createReaders(connection);
  const log: Record<string, unknown>[] = [];
  const { server, streams } = await serve(
    read,
    { primary: readers, readers, ...spread },
    log,
    settings,
  );
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  const { secret: key } = await createKey(database, { kind: "graphql" });

  const post: Api["post"] = async (body, headers) => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key, ...headers },
      body,
    });
    const text = await response.text();
    const { data, errors } = text.startsWith("{") ? JSON.parse(text) : {};
    return { status: response.status, headers: response.headers, data, errors, text };
  };
  return {
    url,
    server,
    streams,
    spread,
    database,
    key,
    log,
    post,
    query: (query, variables, headers) => post(JSON.stringify({ query, variables }), headers),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await Promise.all([read.close(), readers.close()]);
      if (settings.database === undefined) await database.close();
    },
  };
};

const serve = async (
  read: Database,
  { readers, primary }: Readonly<Record<"readers" | "primary", Readers>>,
  log: Record<string, unknown>[],
  {
    quota = 1_000_000,
    attempts = 1000,
    now = Date.now,
    streams,
    findSummaries,
    labelKeys,
    agentNames,
    reachMs,
    parts = [],
  }: Parameters<typeof startApi>[0] & object,
): Promise<Pick<Api, "server" | "streams">> => {
  const lines = new Writable({
    write: (line, _encoding, done) => {
      log.push(JSON.parse(String(line)));
      done();
    },
  });
  const health = watchHealth({
    progress: databaseProgress(read.db, PIPELINES),
    version: "0.0.0-test",
    onError: () => undefined,
    now,
    withinMs: 30_000,
  });
  const lookUps = primary.for(undefined, 1);
  const part = graphqlPart({
    keys: lookUps,
    sources: {
      readers,
      lookUps,
      reach: createReach(lookUps, { waitMs: reachMs }),
      packages: () => [PACKAGE],
      pipelines: PIPELINES,
      now,
      findSummaries,
      labelKeys,
      agentNames,
      onAppend: (heard, signal) => read.listen(LOG_CHANNEL, heard, signal),
    },
    streams,
    limits: {
      limit: createRateLimit({ policy: "default", quota, windowSeconds: 60 }),
      attempts: createRateLimit({ policy: "attempts", quota: attempts, windowSeconds: 60 }),
    },
  });
  const metrics = createMetrics(health);
  streamGauges(metrics.registry, part.streams);
  const server = await createServer({
    parts: [part, ...parts],
    logger: pino({ level: "info" }, lines),
    version: "0.0.0-test",
    health,
    metrics,
    unready: async () => ((await migrationsPending(read)) > 0 ? "migrations are missing" : null),
    trustProxy: false,
  });
  return { server, streams: part.streams };
};
