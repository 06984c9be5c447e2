/** A chain with a token of many transfers, for measurements: anvil, one transfer per transaction. */
import { encodeFunctionData, type Hex, parseAbi } from "viem";
import { type Anvil, startAnvil } from "../test/evm/anvil.ts";

export type BenchChain = AsyncDisposable & {
  readonly anvil: Anvil;
  readonly token: Hex;
  /** Transfers besides the one that minted. */
  readonly transfers: number;
  readonly lastBlock: bigint;
};

const ABI = parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]);

const PER_BLOCK = 100;
const WALLETS = 1_000;

/** Makes the chain; takes about a minute for 100,000 transfers. */
export const benchChain = async (transfers: number): Promise<BenchChain> => {
  const anvil = await startAnvil({ args: ["--gas-limit", "60000000"] });
  const { address: token } = await anvil.deploy("SecurityTokenV4", ["Acme", "ACME", 6, 10 ** 12]);
  await anvil.request("evm_setAutomine", [false]);
  const from = anvil.wallet(0);
  for (let sent = 0; sent < transfers; sent += PER_BLOCK) {
    const calls = Array.from({ length: Math.min(PER_BLOCK, transfers - sent) }, (_, n) => {
      const wallet = ((sent + n) % WALLETS) + 0x1000;
      const to: Hex = `0x${wallet.toString(16).padStart(40, "0")}`;
      const data = encodeFunctionData({ abi: ABI, functionName: "transfer", args: [to, 1n] });
      return { method: "eth_sendTransaction", params: [{ from, to: token, data, gas: "0x186a0" }] };
    });
    await batch(anvil.url, [...calls, { method: "anvil_mine", params: ["0x1"] }]);
  }
  await anvil.request("anvil_mine", ["0x1"]);
  const lastBlock = await anvil.client.getBlockNumber();
  return { anvil, token, transfers, lastBlock, [Symbol.asyncDispose]: anvil.stop };
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
