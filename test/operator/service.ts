/** What the page and operators ask, over HTTP, on a database of the test's. */
import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import pino from "pino";
import { openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import type { OutsideSigner } from "../../src/audit/sequence/outside-signer.ts";
import { connect } from "../../src/database/connect.ts";
import { createSpread, type Replicas } from "../../src/database/replicas/spread.ts";
import { type Admission, createAdmission } from "../../src/http/edge/admission.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { createKey } from "../../src/http/keys.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { createServer } from "../../src/http/server.ts";
import { anyone, KEY_HEADER, keyHolders } from "../../src/http/who.ts";
import type { ReloadAssets } from "../../src/operator/assets.ts";
import { operatorPart } from "../../src/operator/part.ts";
import { type PageApiSettings, pageApiPart } from "../../src/page-api/part.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { createAsking } from "../../src/projections/asking.ts";
import { createCapTables } from "../../src/projections/cap-tables.ts";
import type { KeyRing } from "../../src/sealing/key-ring.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import type { Assets } from "../../src/settings/assets.ts";
import type { TestDatabase } from "../postgres.ts";

export const MASTER_KEY = randomBytes(32);

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON, as far as tests look into it. */
  readonly json: Readonly<Record<string, unknown>>;
};

export type OperatorApi = AsyncDisposable & {
  readonly url: string;
  readonly keys: {
    readonly operator: string;
    /** An operator's that sees labels. */
    readonly labels: string;
    readonly graphql: string;
  };
  readonly log: readonly string[];
  readonly replicas: Replicas;
  /** With the operator's key unless another one is given; null sends none. */
  get(path: string, key?: string | null): Promise<Reply>;
  post(path: string, body?: unknown, key?: string | null): Promise<Reply>;
  /** Any method. */
  send(method: string, path: string, body?: unknown, key?: string | null): Promise<Reply>;
};

const sending = (method: string, body: unknown): RequestInit =>
  body === undefined
    ? { method }
    : {
        method,
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      };

export const serveOperator = async (
  database: TestDatabase,
  settings: {
    readonly page?: Partial<PageApiSettings["page"]>;
    readonly verify?: PageApiSettings["proofs"]["verify"];
    readonly trustProxy?: boolean;
    readonly quota?: number;
    readonly rootsPerDay?: number;
    readonly archives?: Admission;
    readonly admission?: Admission;
    readonly giveUp?: (error: Error) => void;
    readonly signer?: OutsideSigner;
    /** Of sealed labels. */
    readonly labelKeys?: KeyRing;
    /** For summaries that a request lacks. */
    readonly waitMs?: number;
    readonly assets?: Assets;
    readonly reloadAssets?: ReloadAssets;
    /** URLs of streaming replicas of `database`. */
    readonly replicas?: readonly string[];
  } = {},
): Promise<OperatorApi> => {
  const connection = {
    url: database.url,
    max: 4,
    applicationName: "test-read",
    readOnly: true,
    statementTimeoutMs: 5_000,
  };
  const read = connect(connection);
  const { replicas = [] } = settings;
  const spread = createSpread({
    readers: connection,
    replicas,
    maxLagMs: 60_000,
    primary: read.sql,
    onChange: () => undefined,
  });
  const { readers } = spread;
  const limit = (quota = 1_000_000) =>
    createRateLimit({ policy: "default", quota, windowSeconds: 60 });
  const holders = {
    header: KEY_HEADER,
    scheme: { name: "pageKey" },
    keys: read,
    limits: { limit: limit(settings.quota), attempts: limit() },
    admission: settings.admission ?? createAdmission(),
  };
  const operatorDesk = operatorPart({
    who: keyHolders({ ...holders, kinds: ["operator"] }),
    db: read.db,
    database,
    labelKeys: async () => settings.labelKeys,
    assets: () => settings.assets ?? { projects: [] },
    reloadAssets: settings.reloadAssets ?? (async () => null),
  });
  const findSummaries = createAsking(read, { waitMs: settings.waitMs });
  const pageApi = pageApiPart({
    reader: keyHolders({ ...holders, kinds: ["graphql", "operator"] }),
    open: anyone(limit(settings.quota)),
    db: read.db,
    page: {
      version: "test",
      ledgerSource: "demo:",
      explorer: {
        transaction: undefined,
        account: undefined,
        object: undefined,
        checkpoint: undefined,
      },
      ...settings.page,
    },
    proofs: {
      readers,
      pipelines: ledgerPipelines,
      verify: settings.verify ?? "links",
      findSummaries,
    },
    exports: {
      labelKeys: async () => settings.labelKeys,
      findSummaries,
      readers,
      capTables: createCapTables(),
      write: database,
      rootsPerDay: settings.rootsPerDay ?? 1_000,
      archives: settings.archives,
      deploymentKey: () => openDeploymentKey(database, MASTER_KEY, settings.signer),
      issuerOf: () => undefined,
      giveUp: settings.giveUp ?? (() => undefined),
    },
  });
  const health = watchHealth({
    progress: databaseProgress(read.db, []),
    version: "test",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const log: string[] = [];
  const lines = new Writable({
    write: (chunk, _encoding, done) => {
      log.push(String(chunk));
      done();
    },
  });
  const server = await createServer({
    parts: [pageApi, operatorDesk],
    logger: pino({ level: "debug", base: null }, lines),
    version: "test",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: settings.trustProxy ?? false,
  });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  const { secret: operator } = await createKey(database, { kind: "operator", label: "desk" });
  const { secret: labels } = await createKey(database, { kind: "operator", seesLabels: true });
  const { secret: graphql } = await createKey(database, { kind: "graphql" });

  const send = async (path: string, init: RequestInit, key: string | null): Promise<Reply> => {
    const headers = new Headers(init.headers);
    if (key !== null) headers.set("x-api-key", key);
    const signal = AbortSignal.timeout(20_000);
    const response = await fetch(`${url}${path}`, { ...init, headers, signal });
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString();
    if (response.status === 500) throw new Error(`${path}: 500; ${log.slice(-2).join("")}`);
    const json: unknown = text.startsWith("{") ? JSON.parse(text) : {};
    const { status, headers: fields } = response;
    return { status, headers: fields, bytes, text, json: json as Reply["json"] };
  };
  return {
    url,
    keys: { operator, labels, graphql },
    log,
    replicas: spread,
    get: (path, key = operator) => send(path, {}, key),
    post: (path, body = {}, key = operator) => send(path, sending("POST", body), key),
    send: (method, path, body, key = operator) => send(path, sending(method, body), key),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await health[Symbol.asyncDispose]();
      await Promise.all([read.close(), readers.close()]);
    },
  };
};
