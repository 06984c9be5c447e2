/** What an EVM relay makes of an RPC's answers to a transaction that it offers. */
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { evmRelay } from "../../../src/ta/ledgers/evm-relay.ts";
import { verdictOn } from "../../../src/ta/ledgers/evm-verdict.ts";
import { RelayUnavailableError, SubmissionRefusedError } from "../../../src/ta/ledgers/relay.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, ended, historyOf } from "../processing/circle.ts";
import { EVM_ASSET, newEvmWallet, OWNER, startEvmCircle } from "../processing/evm-circle.ts";

const KEY = "Zq81nn0tT0bESeen77";

/** An answer in place of the chain's: an error of JSON-RPC, or an HTTP answer. */
type Spoilt =
  | { readonly code: number; readonly message: string }
  | { readonly status: number; readonly body: string };

/** An RPC whose URL holds a key; it is not asked where there is no chain. */
const startRpc = async (spoil: (method: string) => Spoilt | undefined, chain?: string) => {
  const seen = { sent: 0, spoilt: 0 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { id, method }: { id: number; method: string } = JSON.parse(text);
    if (method === "eth_sendRawTransaction") seen.sent += 1;
    const spoilt = spoil(method);
    const headers = { "content-type": "application/json" };
    if (spoilt !== undefined) {
      seen.spoilt += 1;
      if ("status" in spoilt) response.writeHead(spoilt.status).end(spoilt.body);
      else
        response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, error: spoilt }));
      return;
    }
    if (chain === undefined) {
      const result = method === "eth_sendRawTransaction" ? `0x${"0".repeat(64)}` : "0x0";
      response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      return;
    }
    const answer = await fetch(chain, { method: "POST", headers, body: text });
    response.writeHead(answer.status, headers).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}/v3/${KEY}?token=${KEY}-2`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const signer = evmKeySigner(OWNER);

/** A signed transaction as the relay stores it. */
const signedBytes = async () => {
  const signed = await signer.sign(
    {
      type: "eip1559",
      chainId: 31337,
      nonce: 0,
      gas: 50_000n,
      maxFeePerGas: 2n,
      maxPriorityFeePerGas: 1n,
      to: `0x${"ab".repeat(20)}`,
    },
    { asset: "acme", requestId: "r" },
    new AbortController().signal,
  );
  return Buffer.from(signed.slice(2), "hex");
};

/** What becomes of a transaction offered for the first time to RPCs that answer so. */
const offered = async (...spoilt: readonly (Spoilt | undefined)[]) => {
  await using opened = new AsyncDisposableStack();
  const rpc: string[] = [];
  for (const answer of spoilt) {
    const one = opened.use(
      await startRpc((method) => (method === "eth_sendRawTransaction" ? answer : undefined)),
    );
    rpc.push(one.url);
  }
  const relay = evmRelay({
    chainId: 31337,
    rpc,
    token: `0x${"ab".repeat(20)}`,
    type: "comakery_security_token_v4",
    signer,
    lowestNonce: async () => 0,
    signedBefore: async () => [],
  });
  const submitting = relay.submit(await signedBytes(), new AbortController().signal, false);
  return await submitting.then(
    () => "taken",
    (error: unknown) => error,
  );
};

/** Everything that a log line of an error would show. */
const shown = (error: unknown): string =>
  error instanceof Error
    ? `${error.name} ${error.message} ${error.stack} ${JSON.stringify(error)} ${shown(error.cause)}`
    : String(error);

test.each([
  // Providers, before any node was asked.
  [{ code: -32005, message: "project ID request rate exceeded" }],
  [{ code: -32000, message: "request rate exceeds 50 per second" }],
  [{ code: -32000, message: `invalid API key ${KEY}` }],
  [{ code: -32001, message: `invalid project id: ${KEY}` }],
  [{ code: 429, message: `Your app exceeds its compute units; see https://x.example/${KEY}` }],
  [{ code: -32000, message: "insufficient funds: the prepaid balance of this project is used up" }],
  [{ code: -32000, message: "insufficient funds on your plan" }],
  [{ code: -32005, message: "limit exceeded" }],
  [{ code: -32602, message: "invalid argument 0: hex string has odd length" }],
  [{ code: -32603, message: "Internal error: upstream request exceeds its time" }],
  // A listed reason under a code that is not a refusal.
  [{ code: -32005, message: "exceeds block gas limit" }],
  [{ code: -32603, message: "insufficient funds for gas * price + value" }],
  // Nodes, of this moment.
  [{ code: -32000, message: "txpool is full" }],
  [{ code: -32000, message: "account limit exceeded: pooled 64 txs" }],
  [{ code: -32000, message: "transaction underpriced: gas tip cap 1, minimum needed 2" }],
  [{ code: -32000, message: "replacement transaction underpriced" }],
  [
    {
      code: -32000,
      message: "max fee per gas less than block base fee: address 0xab, maxFeePerGas: 1",
    },
  ],
  [
    {
      code: -32000,
      message:
        "insufficient funds for gas * price + value: balance 9, queued cost 5, tx cost 5, overshot 1",
    },
  ],
  [
    {
      code: -32000,
      message: "transaction type not supported: type 2 rejected, pool not yet in London",
    },
  ],
  [{ code: -32000, message: "INTERNAL_ERROR: pending sub-pool is full" }],
  [{ code: -32003, message: "Nonce too high" }],
  [{ code: -32000, message: "node is syncing" }],
  // What stands between.
  [{ status: 429, body: '{"error":"too many requests"}' }],
  [{ status: 429, body: '{"error":{"code":-32005,"message":"limit exceeded"}}' }],
  [{ status: 403, body: `<html>invalid key ${KEY}</html>` }],
  [{ status: 502, body: "<html><h1>Bad Gateway</h1></html>" }],
  [{ status: 200, body: "<html>Maintenance exceeds its time</html>" }],
] satisfies [Spoilt][])(
  "%j may be temporary: the transaction is retried, and no key is shown",
  async (spoilt) => {
    const error = await offered(spoilt);
    expect(error).toBeInstanceOf(RelayUnavailableError);
    expect(shown(error)).not.toContain(KEY);
    expect(shown(error)).not.toContain("/v3/");
  },
);

test.each([
  ["geth", -32000, "insufficient funds for gas * price + value: balance 0, tx cost 5, overshot 5"],
  ["geth", -32000, "intrinsic gas too low: gas 1, minimum needed 21000"],
  ["geth", -32000, "exceeds block gas limit"],
  ["geth", -32000, "tx fee (2.10 ether) exceeds the configured cap (1.00 ether)"],
  ["geth", -32000, "invalid sender: invalid chain id for signer: have 1 want 2"],
  ["geth", -32000, "transaction gas limit too high (cap: 16777216, tx: 20000000)"],
  ["coreth", -32000, "exceeds block gas limit: tx gas (9) > current max gas (8)"],
  ["erigon", -32000, "INTERNAL_ERROR: insufficient funds"],
  ["erigon", -32000, "INTERNAL_ERROR: IntrinsicGas"],
  ["nethermind", -32000, "insufficient funds for gas * price + value, Balance is 0"],
  ["nethermind", -32000, "sender not an eoa"],
  ["besu", -32003, "Intrinsic gas exceeds gas limit"],
  ["besu", -32000, "Wrong chainId"],
  ["reth", -32003, "insufficient funds for gas * price + value: have 0 want 5"],
  ["reth", -32000, "intrinsic gas too high"],
  ["anvil", -32003, "Insufficient funds for gas * price + value"],
  ["anvil", -32000, "intrinsic gas too high -- CallerGasLimitMoreThanBlock"],
] as const)("%s refuses permanently with %i %s", async (_client, code, message) => {
  const error = await offered({ code, message });
  expect(error).toBeInstanceOf(SubmissionRefusedError);
  if (!(error instanceof Error)) throw new Error("not refused");
  // A node's own words may go on with anything: the caller is told the reason alone, in ours.
  const plain = (text: string) => text.toLowerCase().replace(/\(2.10 ether\) /, "");
  expect(plain(message)).toContain(plain(error.message));
});

test.each([
  ["geth", "already known"],
  ["besu", "Known transaction"],
  ["anvil", "transaction already imported"],
  ["erigon", "ALREADY_EXISTS: already known"],
  ["erigon", "INTERNAL_ERROR: existing tx with same hash"],
  ["openethereum", "Transaction with the same hash was already imported."],
])("%s has the transaction already when it answers %s", async (_client, message) => {
  expect(await offered({ code: -32000, message })).toBe("taken");
});

test("a type unknown to a node does not mean a known transaction", () => {
  expect(verdictOn(-32602, "Unknown transaction type not supported")).toEqual({ is: "again" });
});

test.each([
  ["geth", -32000, "nonce too low: next nonce 5, tx nonce 3"],
  ["besu", -32001, "Nonce too low"],
  ["erigon", -32000, "INTERNAL_ERROR: nonce too low"],
  ["nethermind", -32010, "OldNonce, Current nonce: 5, nonce of rejected tx: 3"],
])("%s reports a used nonce: the transaction is looked for", async (_client, code, message) => {
  expect(verdictOn(code, message)).toEqual({ is: "nonce spent" });
  // The chain is not 64 blocks long: that another one spent it is not settled.
  expect(await offered({ code, message })).toBe("taken");
});

test("one busy RPC keeps another's refusal from counting, and one that accepts suffices", async () => {
  const refusal = { code: -32000, message: "intrinsic gas too low" };
  const busy = { status: 429, body: "" };
  expect(await offered(refusal, busy)).toBeInstanceOf(RelayUnavailableError);
  expect(await offered(busy, refusal)).toBeInstanceOf(RelayUnavailableError);
  expect(await offered(refusal, refusal)).toBeInstanceOf(SubmissionRefusedError);
  expect(await offered(refusal, undefined)).toBe("taken");
});

test("a busy RPC ends no request, and its key is not stored, logged or shown", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  let busy = true;
  const spoilt = {
    code: -32000,
    message: `invalid API key ${KEY}: request rate exceeds its limit`,
  };
  await using rpc = await startRpc(
    (method) => (busy && method === "eth_sendRawTransaction" ? spoilt : undefined),
    chain.url,
  );
  await using processing = await circle.process(OWNER, { rpc: [rpc.url] });
  const id = await acceptRequest(database, {
    asset: EVM_ASSET,
    investorId: "busy-1",
    wallet: newEvmWallet(),
  });
  await until(
    "submissions",
    () => rpc.seen.sent,
    (sent) => sent >= 2,
    30_000,
  );
  const [row] = await database.sql<{ status: string }[]>`
    select status from ta_requests where id = ${id}`;
  expect(row?.status).toBe("PENDING");
  busy = false;
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  const told = await historyOf(database, id);
  expect(JSON.stringify([told, processing.logged])).not.toContain(KEY);
});
