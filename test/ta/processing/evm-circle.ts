/** What tests of EVM assets share: a chain with a token, its indexing, and the processing of requests. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pino from "pino";
import { openQueues } from "../../../src/lanes/queues.ts";
import { startEvm } from "../../../src/service/evm.ts";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import type { Relay } from "../../../src/ta/ledgers/relay.ts";
import { heldIn } from "../../../src/ta/pii/vault.ts";
import { processedAssets } from "../../../src/ta/processing/processed-assets.ts";
import { startProcessing } from "../../../src/ta/processing/processing.ts";
import { startAnvil } from "../../evm/anvil.ts";
import { until } from "../../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { evmAsset } from "../../rest/service.ts";
import { historyOf } from "./circle.ts";
import { QUICK } from "./processor.ts";

/** The first two of anvil's accounts, which are public: the token's owner, and a stranger. */
export const OWNER = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
export const STRANGER = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/** The asset, and the group to whitelist into. */
export const EVM_ASSET = "acme";
export const EVM_GROUP = 5;

/** A wallet without an owner. */
export const newEvmWallet = () => `0x${randomBytes(20).toString("hex")}`;

/** Starts everything but the processing. A number as `finality` is blocks below the head. */
export const startEvmCircle = async (
  version: 2 | 3 | 4,
  { finality = "latest" }: { readonly finality?: "latest" | number } = {},
) => {
  await using opened = new AsyncDisposableStack();
  const chain = opened.use(await startAnvil());
  const database = opened.use(await freshDatabase({ max: 10 }));
  const token = await chain.deploy(`SecurityTokenV${version}`, ["Acme", "ACM", 2, 1_000n]);
  const evm = {
    ...evmAsset({
      name: EVM_ASSET,
      address: token.address,
      chainId: chain.chainId,
      rpc: [chain.url],
      finality,
      whitelistGroupId: EVM_GROUP,
      ta: { callbackUrl: "http://127.0.0.1:9/" },
    }),
    type: `comakery_security_token_v${version}` as const,
  };
  const stop = new AbortController();
  opened.use(
    await startEvm({
      config: { evmPollMs: 50 },
      logger: pino({ level: "silent" }),
      database,
      assets: { projects: [{ name: EVM_ASSET, tokens: [evm] }] },
      signal: stop.signal,
    }),
  );
  opened.defer(() => stop.abort());

  /** Processes requests with a key, over the chain's own RPC unless others are named. */
  const process = async (
    key: string,
    {
      rpc = [chain.url],
      around = (relay: Relay) => relay,
    }: { readonly rpc?: readonly string[]; readonly around?: (relay: Relay) => Relay } = {},
  ) => {
    const logged: string[] = [];
    const logger = pino({ level: "debug" }, { write: (line: string) => void logged.push(line) });
    const queues = openQueues({ databaseUrl: database.url, onError: () => undefined });
    const processed = await processedAssets(
      [
        {
          name: EVM_ASSET,
          project: EVM_ASSET,
          callbackUrl: "http://127.0.0.1:9/",
          whitelistGroupId: EVM_GROUP,
          ledger: "evm",
          token: { ...evm, rpc: [...rpc] },
        },
      ],
      { evm: { signer: evmKeySigner(key) } },
      database.sql,
      (asset, what) => logger.error({ asset, what }),
    );
    const assets = processed.map((asset) => ({ ...asset, relay: around(asset.relay) }));
    const processing = await startProcessing({
      database,
      queues,
      assets,
      vault: heldIn(database),
      logger,
      ...QUICK,
    });
    return {
      logged,
      [Symbol.asyncDispose]: async () => {
        await processing.stop();
        await queues.close();
      },
    };
  };
  const all = opened.move();
  return {
    chain,
    database,
    token,
    asset: evm,
    process,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

/** Waits until a request's history has a step that begins so, and says what the request's status is then. */
export const atStep = async (
  { database }: { readonly database: TestDatabase },
  id: string,
  step: string,
): Promise<string> => {
  await until(
    `the step "${step}"`,
    () => historyOf(database, id),
    (steps) => steps.some(({ message }) => message.startsWith(step)),
  );
  const [row] = await database.sql<{ status: string }[]>`
    select status from ta_requests where id = ${id}`;
  return row?.status ?? "none";
};

/**
 * An RPC before a chain's own one that does what a load balancer over several nodes may do: give a node's
 * answer that has not heard of a transaction yet, or lose one.
 */
export const startBalancer = async (target: string) => {
  const seen = { receiptsHidden: true, answersToLose: 0, sent: 0 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { id, method }: { id: number; method: string } = JSON.parse(text);
    if (method === "eth_getTransactionReceipt" && seen.receiptsHidden) {
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: null }));
      return;
    }
    const headers = { "content-type": "application/json" };
    const answer = await fetch(target, { method: "POST", headers, body: text });
    const body = await answer.text();
    if (method === "eth_sendRawTransaction") {
      seen.sent += 1;
      if (seen.answersToLose > 0) {
        seen.answersToLose -= 1;
        response.destroy();
        return;
      }
    }
    response.writeHead(answer.status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
