/** An RPC that is of another chain for a while, as behind a load balancer that is being changed. */
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { z } from "zod";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { evmRelay } from "../../../src/ta/ledgers/evm-relay.ts";
import { OWNER } from "../processing/evm-circle.ts";

const call = z.object({ id: z.number(), method: z.string() });
const calls = z.union([call, z.array(call)]);

test("an RPC that was briefly of another chain serves again once it is right", async () => {
  let chainId = "0x2";
  const answer = ({ id, method }: z.infer<typeof call>) => ({
    jsonrpc: "2.0",
    id,
    result: method === "eth_chainId" ? chainId : "0x10",
  });
  await using server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const asked = calls.parse(JSON.parse(Buffer.concat(chunks).toString()));
    const body = Array.isArray(asked) ? asked.map(answer) : answer(asked);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const relay = evmRelay({
    chainId: 1,
    rpc: [`http://127.0.0.1:${address.port}`],
    token: `0x${"11".repeat(20)}`,
    type: "comakery_security_token_v3",
    signer: evmKeySigner(OWNER),
    lowestNonce: async () => 0,
    signedBefore: async () => [],
  });
  const { signal } = new AbortController();
  await expect(relay.tip(signal)).rejects.toThrow("chain 2");
  chainId = "0x1";
  expect(await relay.tip(signal)).toBe(16n);
  server.closeAllConnections();
});
