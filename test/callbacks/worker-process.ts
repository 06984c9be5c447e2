/**
 * One process that delivers callbacks, for tests that kill it: `node worker-process.ts <settings>`,
 * the settings as JSON. Prints "ready" and runs until it is killed.
 */
import pino from "pino";
import { startCallbacks } from "../../src/callbacks/callbacks.ts";
import { openOutbound } from "../../src/callbacks/outbound.ts";
import { openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { connect } from "../../src/database/connect.ts";
import { openQueues } from "../../src/lanes/queues.ts";

/** What the test tells the process. */
export type WorkerProcessSettings = {
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  /** Base64. */
  readonly masterKey: string;
  readonly leaseMs: number;
};

const settings: WorkerProcessSettings = JSON.parse(process.argv[2] ?? "{}");
const logger = pino({ level: "warn" }, pino.destination(2));
const database = connect({ url: settings.databaseUrl, max: 4, applicationName: "worker-process" });
const queues = openQueues({
  databaseUrl: settings.databaseUrl,
  redisUrl: settings.redisUrl,
  onError: (err) => logger.warn({ err }),
});
await startCallbacks({
  database,
  queues,
  outbound: openOutbound({ policy: { allowPrivate: true } }),
  signingKeys: await openSigningKeys(database, Buffer.from(settings.masterKey, "base64")),
  logger,
  retrySeconds: [0.1, 0.1, 0.1, 0.1, 0.1],
  concurrency: 4,
  leaseMs: settings.leaseMs,
  // Short turns: lanes change hands between processes all the time.
  turnMs: 200,
  pollMs: 200,
  wakeAgainMs: settings.leaseMs,
});
process.stdout.write("ready\n");
// Its parent's death is its own, so that a test that fails leaves nothing running.
process.stdin.on("close", () => process.exit(0)).resume();
