import { randomBytes } from "node:crypto";
import pino, { type Logger } from "pino";
import { type CallbackSettings, startCallbacks } from "../../src/callbacks/callbacks.ts";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { type Callback, enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { type OutboundLimits, openOutbound } from "../../src/callbacks/outbound.ts";
import { openSigningKeys, type SigningKeys } from "../../src/callbacks/signing-keys.ts";
import type { Database } from "../../src/database/connect.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import type { LaneWorkers } from "../../src/lanes/workers.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

/** Loopback is where the receivers of tests are. */
export const LOCAL = { allowPrivate: true };

/** The key of the endpoint that `sender` registers. */
export const ENDPOINT = "project:acme";

/** Times that let a test see several attempts within a second. */
const QUICK = {
  retrySeconds: [0.05, 0.05, 0.05],
  pollMs: 100,
  leaseMs: 2_000,
  graceMs: 500,
  troubleMs: 300,
};

export type Sender = AsyncDisposable & {
  readonly database: TestDatabase;
  readonly signingKeys: SigningKeys;
  /** Lines logged so far. */
  readonly logged: readonly string[];
  /** Commits callbacks; without an endpoint they go to `ENDPOINT`. */
  send(callbacks: readonly Draft[]): Promise<void>;
  /** Another sender on the same database, as another process would run one. */
  start(settings?: Partial<CallbackSettings>): Promise<LaneWorkers>;
  /** Statuses of all messages, by id. */
  statuses(endpoint?: string): Promise<Readonly<Record<string, string>>>;
  /** Waits until nothing is pending. */
  settled(deadlineMs?: number): Promise<void>;
};

/** A callback with everything that a test does not care about left out. */
export type Draft = Pick<Callback, "id"> & Partial<Callback>;

/** A database with an endpoint at `url`, delivering with quick retries unless `settings` says otherwise. */
export const startSender = async (
  url: string,
  settings: Partial<CallbackSettings> & {
    readonly limits?: Partial<OutboundLimits>;
    readonly delivering?: boolean;
  } = {},
): Promise<Sender> => {
  const database = await freshDatabase({ max: 8 });
  const logged: string[] = [];
  const logger: Logger = pino(
    { level: "debug" },
    { write: (line: string) => void logged.push(line) },
  );
  const queues = openQueues({ databaseUrl: database.url, onError: (err) => logger.warn({ err }) });
  const { limits, delivering = true, ...rest } = settings;
  const outbound = openOutbound({ policy: LOCAL, ...(limits && { limits }) });
  const signingKeys = await openSigningKeys(database, randomBytes(32));
  const running: LaneWorkers[] = [];
  const start = async (more: Partial<CallbackSettings> = {}) => {
    const callbacks = await startCallbacks({
      database,
      queues,
      outbound,
      signingKeys,
      logger,
      ...QUICK,
      ...rest,
      ...more,
    });
    running.push(callbacks);
    return callbacks;
  };
  await registerEndpoint(database, LOCAL, { key: ENDPOINT, url });
  if (delivering) await start();
  const statuses = (endpoint = ENDPOINT) => statusesIn(database, endpoint);
  return {
    database,
    signingKeys,
    logged,
    send: (drafts) => database.transaction((tx) => enqueueCallbacks(tx, drafts.map(callbackOf))),
    start,
    statuses,
    settled: async (deadlineMs) => {
      const pending = async () => {
        const all = Object.entries(await statuses());
        return all.filter(([, status]) => status === "pending");
      };
      await until("no pending callbacks", pending, (left) => left.length === 0, deadlineMs);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((callbacks) => callbacks.stop()));
      await queues.close();
      outbound.close();
      await database.close();
    },
  };
};

export const callbackOf = (draft: Draft): Callback => ({
  endpoint: ENDPOINT,
  lane: "token-1",
  type: "transfer_event",
  body: { id: draft.id },
  ...draft,
});

const statusesIn = async (database: Database, endpoint: string) => {
  const rows = await database.sql<{ id: string; status: string }[]>`
    select id, status from callback_messages where endpoint = ${endpoint}`;
  return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
};

/** The only message's delivery with this id. */
export const deliveryOf = async (database: Database, id: string) => {
  const all = await listDeliveries(database, { endpoints: [ENDPOINT], limit: 1_000 });
  const found = all.find((delivery) => delivery.id === id);
  if (found === undefined) throw new Error(`no delivery ${id}`);
  return found;
};
