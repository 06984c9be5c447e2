/** An anvil chain with a token of many transfers. */
import { encodeFunctionData, type Hex, parseAbi } from "viem";
import { type Anvil, startAnvil } from "../test/evm/anvil.ts";

export type BenchChain = AsyncDisposable & {
  readonly anvil: Anvil;
  readonly token: Hex;
  readonly transfers: number;
  readonly lastBlock: bigint;
};

const ABI = parseAbi([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function batchTransfer(address[] to, uint256[] amounts) returns (bool)",
]);

const PER_BLOCK = 100;
const WALLETS = 1_000;

/**
 * A hundred transfers a block, one per transaction or `perTransaction` per `batchTransfer`. The
 * sender is impersonated: anvil recovers a signer whenever it prints a transaction, which would
 * dominate every reader's time. Real nodes store the sender.
 */
export const benchChain = async (transfers: number, perTransaction = 1): Promise<BenchChain> => {
  const anvil = await startAnvil({ args: ["--gas-limit", "60000000"] });
  const { address: token } = await anvil.deploy("SecurityTokenV4", ["Acme", "ACME", 6, 10 ** 12]);
  const from = anvil.wallet(0);
  await anvil.request("anvil_impersonateAccount", [from]);
  await anvil.request("evm_setAutomine", [false]);
  for (let sent = 0; sent < transfers; sent += PER_BLOCK) {
    const calls = [];
    for (let n = sent; n < Math.min(transfers, sent + PER_BLOCK); n += perTransaction) {
      const data = movement(n, Math.min(perTransaction, transfers - n));
      calls.push({
        method: "eth_sendTransaction",
        params: [{ from, to: token, data, gas: `0x${(100_000 * perTransaction).toString(16)}` }],
      });
    }
    await batch(anvil.url, [...calls, { method: "anvil_mine", params: ["0x1"] }]);
  }
  await anvil.request("anvil_mine", ["0x1"]);
  const lastBlock = await anvil.client.getBlockNumber();
  return { anvil, token, transfers, lastBlock, [Symbol.asyncDispose]: anvil.stop };
};

const movement = (first: number, count: number): Hex => {
  const to = Array.from({ length: count }, (_, n): Hex => {
    const wallet = ((first + n) % WALLETS) + 0x1000;
    return `0x${wallet.toString(16).padStart(40, "0")}`;
  });
  const [only = "0x"] = to;
  return count === 1
    ? encodeFunctionData({ abi: ABI, functionName: "transfer", args: [only, 1n] })
    : encodeFunctionData({ abi: ABI, functionName: "batchTransfer", args: [to, to.map(() => 1n)] });
};

const batch = async (
  url: string,
  calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }))),
  });
  const replies: { error?: { message: string } }[] = JSON.parse(await response.text());
  const failed = replies.find(({ error }) => error !== undefined);
  if (failed !== undefined) throw new Error(`the chain refuses: ${failed.error?.message}`);
};
