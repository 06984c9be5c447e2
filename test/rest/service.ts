/** Interface A as its users see it: projects on real chains, read, stored, served and called back. */
import { randomBytes } from "node:crypto";
import pino, { type Logger } from "pino";
import { parseExactly } from "../../client/exact-json.ts";
import { startCallbacks } from "../../src/callbacks/callbacks.ts";
import { openOutbound } from "../../src/callbacks/outbound.ts";
import { openSigningKeys, type SigningKeys } from "../../src/callbacks/signing-keys.ts";
import type { RawReads } from "../../src/database/readers.ts";
import { docsPart } from "../../src/http/docs/part.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { createKey } from "../../src/http/keys.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import type { Part } from "../../src/http/part.ts";
import { createServer } from "../../src/http/server.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { type RestPartSettings, restPart } from "../../src/rest/part.ts";
import { applyCallbackAddresses } from "../../src/service/callbacks.ts";
import { startEvm } from "../../src/service/evm.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { evmDetails, evmGauges } from "../../src/service/health/evm-health.ts";
import type { Assets } from "../../src/settings/assets.ts";
import { projectsOf } from "../../src/transfers/projects.ts";
import type { TestDatabase } from "../postgres.ts";

/** Whatever waits in these tests waits no longer. */
const DEADLINE_MS = 20_000;

export type Project = Assets["projects"][number];
export type { EvmToken as EvmAsset } from "../../src/settings/assets.ts";
export { evmAsset } from "../evm/asset.ts";

/** A record as JSON; integers beyond 2^53 are bigints. */
export type TransferEventJson = { readonly id: number | bigint } & Readonly<
  Record<string, unknown>
>;

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed without rounding. */
  readonly body: unknown;
};

export type Api = AsyncDisposable & {
  readonly url: string;
  /** `GET` of a path, with a project's key unless other headers are given. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Records of the list, with a query string. */
  list(query?: string, key?: string): Promise<readonly TransferEventJson[]>;
  /** Waits until the list holds what is wanted. */
  until(
    wanted: (records: readonly TransferEventJson[]) => boolean,
    query?: string,
  ): Promise<readonly TransferEventJson[]>;
};

/** On connections that are shared with all else. */
const rawReads = ({ sql }: Pick<TestDatabase, "sql">): RawReads => ({
  raw: async (text, parameters) => await sql.unsafe(text, parameters, { prepare: true }).raw(),
});

/** Serves projects from a database; `key` is of the first project. */
export const serve = async (
  database: TestDatabase,
  projects: readonly Project[],
  settings: {
    readonly quota?: number;
    readonly attempts?: number;
    /** Described beside it. */
    readonly others?: readonly Part[];
    readonly keys?: RestPartSettings["keys"];
    readonly readers?: RestPartSettings["readers"];
    readonly admission?: RestPartSettings["admission"];
    readonly logger?: Logger;
    readonly trustProxy?: boolean;
    readonly hasFastPath?: boolean;
  } = {},
): Promise<Api & { readonly key: string }> => {
  const [first] = projects;
  if (first === undefined) throw new Error("no project, no key");
  const { secret: key } = await createKey(database, { kind: "project", subject: first.name });
  const known = projectsOf({ projects: [...projects] });
  const health = watchHealth({
    progress: databaseProgress(database.db, []),
    details: evmDetails({ db: database.db, projects: known }),
    version: "1",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const metrics = createMetrics(health);
  evmGauges(metrics.registry, health);
  const limit = (policy: string, quota: number) =>
    createRateLimit({ policy, quota, windowSeconds: 60 });
  const part = restPart({
    keys: settings.keys ?? database,
    db: database.db,
    readers: settings.readers ?? { for: () => rawReads(database) },
    projects: () => known,
    limits: {
      limit: limit("default", settings.quota ?? 1_000_000),
      attempts: limit("attempts", settings.attempts ?? 1_000),
    },
    admission: settings.admission,
  });
  const server = await createServer({
    parts: [part, docsPart({ parts: [part, ...(settings.others ?? [])], version: "1" })],
    ...(settings.hasFastPath !== undefined && { hasFastPath: settings.hasFastPath }),
    logger: settings.logger ?? pino({ level: "silent" }),
    version: "1",
    health,
    metrics,
    unready: async () => null,
    trustProxy: settings.trustProxy ?? false,
  });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });
  const get: Api["get"] = async (path, headers = { "x-project-api-key": key }) => {
    const response = await fetch(new URL(path, url), { headers });
    const text = await response.text();
    const json = response.headers.get("content-type")?.startsWith("application/json");
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: json ? parseExactly(text) : undefined,
    };
  };
  const list: Api["list"] = async (query = "", as = key) => {
    const answer = await get(`/r/api/v2/transfer_events${query}`, { "x-project-api-key": as });
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
    return answer.body as readonly TransferEventJson[];
  };
  return {
    url,
    key,
    get,
    list,
    until: (wanted, query) =>
      waitFor(
        () => list(query),
        wanted,
        (records) => records.map(({ id, amount }) => `${id}: ${amount}`).join(", "),
      ),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await health[Symbol.asyncDispose]();
    },
  };
};

/** Looks until what is seen is wanted; at the deadline fails telling what was seen. */
export const waitFor = async <T>(
  look: () => T | Promise<T>,
  wanted: (seen: T) => boolean,
  show: (seen: T) => unknown = (seen) => seen,
): Promise<T> => {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const seen = await look();
    if (wanted(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`not within ${DEADLINE_MS} ms; last seen: ${String(show(seen))}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** Reads the chains of projects into a database, and makes their records, with their addresses known. */
export const index = async (
  database: TestDatabase,
  projects: readonly Project[],
  settings: Pick<Parameters<typeof startEvm>[0], "check" | "rpc"> = {},
) => {
  const assets = { projects: [...projects] };
  await applyCallbackAddresses(database, { allowPrivate: true }, assets);
  const logged: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void logged.push(line) });
  const stop = new AbortController();
  const evm = await startEvm({
    config: { evmPollMs: 20 },
    logger,
    database,
    assets,
    signal: stop.signal,
    check: settings.check,
    rpc: { attempts: 3, pauseMs: 5, maxPauseMs: 20, timeoutMs: 5_000, ...settings.rpc },
  });
  return {
    ...evm,
    logged,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await evm[Symbol.asyncDispose]();
    },
  };
};

/** Delivers callbacks out of a database. */
export const deliver = async (
  database: TestDatabase,
): Promise<AsyncDisposable & { readonly signingKeys: SigningKeys }> => {
  const logger = pino({ level: "silent" });
  const queues = openQueues({ databaseUrl: database.url, onError: () => undefined });
  const outbound = openOutbound({ policy: { allowPrivate: true } });
  const signingKeys = await openSigningKeys(database, randomBytes(32));
  const callbacks = await startCallbacks({
    database,
    queues,
    outbound,
    signingKeys,
    logger,
    retrySeconds: [0.05, 0.05],
    pollMs: 50,
  });
  return {
    signingKeys,
    [Symbol.asyncDispose]: async () => {
      await callbacks.stop();
      await queues.close();
      outbound.close();
    },
  };
};
