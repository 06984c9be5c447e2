/**
 * One process that delivers callbacks, for tests that kill it: `node worker-process.ts <settings>`,
 * the settings as JSON. Prints "ready" and runs until it is killed, or until it comes to a point at which
 * it was told to kill itself: "sending" or "answered" and the id of a message.
 */
import pino from "pino";
import { startCallbacks } from "../../src/callbacks/callbacks.ts";
import { openOutbound } from "../../src/callbacks/outbound.ts";
import { openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { connect } from "../../src/database/connect.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { listenForDeath } from "../mortality.ts";

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
const mortality = listenForDeath();
const outbound = openOutbound({ policy: { allowPrivate: true } });
await startCallbacks({
  database,
  queues,
  outbound: {
    ...outbound,
    post: async (request) => {
      const id = request.headers["webhook-id"];
      mortality.at(`sending ${id}`);
      const answer = await outbound.post(request);
      mortality.at(`answered ${id}`);
      return answer;
    },
  },
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
