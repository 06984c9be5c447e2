/**
 * One process that processes requests and delivers their callbacks, for tests that kill it:
 * `node worker-process.ts <settings>`, the settings as JSON. Prints "ready" and runs until it is killed,
 * and requests stay where it was told to let them.
 */
import pino from "pino";
import { startCallbacks } from "../../../src/callbacks/callbacks.ts";
import { openOutbound } from "../../../src/callbacks/outbound.ts";
import { openSigningKeys } from "../../../src/callbacks/signing-keys.ts";
import { connect } from "../../../src/database/connect.ts";
import { openQueues } from "../../../src/lanes/queues.ts";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { suiKeySigner } from "../../../src/ta/ledgers/signer.ts";
import { openSuiNode } from "../../../src/ta/ledgers/sui-relay.ts";
import { heldIn } from "../../../src/ta/pii/vault.ts";
import { processedAssets } from "../../../src/ta/processing/processed-assets.ts";
import { startProcessing } from "../../../src/ta/processing/processing.ts";
import { failUndelivered } from "../../../src/ta/processing/record.ts";
import type { ProcessedAsset } from "../../../src/ta/processing/request.ts";
import type { AgentToken } from "../../../src/ta/requests/asset.ts";
import { listenForDeath } from "../../mortality.ts";

/** What the test tells the process. */
export type WorkerProcessSettings = {
  readonly databaseUrl: string;
  readonly redisUrl?: string | undefined;
  /** That of the callback keys, base64. */
  readonly masterKey: string;
  readonly group: number;
  readonly leaseMs: number;
  /** Investors, and callbacks, at the same time; otherwise 4. */
  readonly concurrency?: number;
  readonly ledger:
    | {
        readonly kind: "sui";
        readonly asset: string;
        readonly nodeHost: string;
        /** Base64. */
        readonly secretKey: string;
        readonly coinType: string;
        readonly packages: readonly string[];
      }
    | {
        readonly kind: "evm";
        readonly project: string;
        readonly token: AgentToken;
        /** Assets that are all this token, each with the key of its own payer. */
        readonly secretKeys: Readonly<Record<string, string>>;
      };
};

/** What a process has just done for a request that stays there. */
export type Step =
  | "claimed"
  | "signed"
  | "stored"
  | "submitted"
  | "seen executed"
  | "ended"
  | "called back";

const settings: WorkerProcessSettings = JSON.parse(process.argv[2] ?? "{}");
const logger = pino({ level: "error" }, pino.destination(2));
const { databaseUrl, redisUrl, leaseMs, ledger, group, concurrency = 4 } = settings;
const database = connect({ url: databaseUrl, max: 8, applicationName: "ta-worker" });
const queues = openQueues({
  databaseUrl,
  redisUrl,
  onError: (err) => logger.warn({ err }),
});
const common = { callbackUrl: "http://unused.example", whitelistGroupId: group };
const onMissing = (asset: string, what: string) => logger.error({ asset, what });

const suiAssets = ({
  asset: name,
  nodeHost,
  secretKey,
  coinType,
  packages,
}: Extract<WorkerProcessSettings["ledger"], { kind: "sui" }>) => {
  const signer = suiKeySigner(secretKey);
  const node = openSuiNode({ host: nodeHost, tls: false });
  return processedAssets(
    [{ ...common, name, project: "demo", ledger: "sui", coinType }],
    { sui: { node, signerOf: () => signer, packages: () => packages, gasBudget: 50_000_000n } },
    database.sql,
    onMissing,
  );
};

const evmAssets = async ({
  project,
  token,
  secretKeys,
}: Extract<WorkerProcessSettings["ledger"], { kind: "evm" }>) => {
  const each = Object.entries(secretKeys).map(([name, secretKey]) =>
    processedAssets(
      [{ ...common, name, project, ledger: "evm", token }],
      { evm: { signer: evmKeySigner(secretKey) } },
      database.sql,
      onMissing,
    ),
  );
  return (await Promise.all(each)).flat();
};

const assets = ledger.kind === "sui" ? await suiAssets(ledger) : await evmAssets(ledger);
const mortality = listenForDeath();
const reached = (step: Step) => mortality.staysAt(step);

/** Lets requests stay on the way between the processing and the ledger. */
const mortal = ({ relay, ...asset }: ProcessedAsset): ProcessedAsset => ({
  ...asset,
  relay: {
    ...relay,
    tip: async (signal) => {
      await reached("claimed");
      return relay.tip(signal);
    },
    prepare: async (order, resource, signal) => {
      const unsigned = await relay.prepare(order, resource, signal);
      return {
        sign: async (signing) => {
          const signed = await unsigned.sign(signing);
          await reached("signed");
          return signed;
        },
      };
    },
    submit: async (signed, signal, again) => {
      await reached("stored");
      await relay.submit(signed, signal, again);
      await reached("submitted");
    },
    lookUp: async (txId, signal) => {
      const executed = await relay.lookUp(txId, signal);
      if (executed !== null) await reached("seen executed");
      return executed;
    },
  },
});

const outbound = openOutbound({ policy: { allowPrivate: true } });
await startProcessing({
  database,
  queues,
  assets: assets.map(mortal),
  vault: heldIn(database),
  logger,
  concurrency,
  leaseMs,
  turnMs: leaseMs / 2,
  lookMs: 25,
  recheckMs: { least: 50, most: 250 },
  troubleMs: 200,
  pollMs: 200,
  wakeAgainMs: leaseMs,
});
await startCallbacks({
  database,
  queues,
  outbound: {
    ...outbound,
    post: async (request) => {
      await reached("ended");
      const answer = await outbound.post(request);
      await reached("called back");
      return answer;
    },
  },
  signingKeys: await openSigningKeys(database, Buffer.from(settings.masterKey, "base64")),
  logger,
  retrySeconds: [0.1, 0.1, 0.1, 0.1, 0.1],
  onGivenUp: failUndelivered,
  concurrency,
  leaseMs,
  turnMs: leaseMs / 2,
  pollMs: 200,
  wakeAgainMs: leaseMs,
});
process.stdout.write("ready\n");
