/** A chain of one's own: anvil on a free loopback port, ended with the scope that started it. */
import { spawn } from "node:child_process";
import { pbkdf2Sync } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import {
  type Account,
  createTestClient,
  type DeployContractParameters,
  decodeFunctionResult,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  publicActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  walletActions,
} from "viem";
import { HDKey, hdKeyToAccount } from "viem/accounts";
import { anvil as anvilChain } from "viem/chains";
import type { Address } from "../../src/evm/contract/fact.ts";
import { until } from "../lanes/until.ts";
import { type Compiled, contract } from "./contracts.ts";

/** The mnemonic that anvil itself starts with. */
const MNEMONIC = "test test test test test test test test test test test junk";

/** Its seed as BIP-39 has it, by Node's own code: that of viem takes a hundred times as long. */
const master = HDKey.fromMasterSeed(pbkdf2Sync(MNEMONIC, "mnemonic", 2_048, 64, "sha512"));

const accounts = Array.from({ length: 10 }, (_, addressIndex) =>
  hdKeyToAccount(master, { addressIndex }),
);

const START_MS = 20_000;

/** A contract on the chain. */
export type Deployed = Compiled & {
  readonly address: Address;
  readonly receipt: TransactionReceipt;
};

export type AnvilSettings = {
  readonly chainId?: number;
  /** More arguments of the command line. */
  readonly args?: readonly string[];
};

export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/** Mines a block per transaction unless told otherwise; ten accounts with ether. */
export const startAnvil = async ({ chainId = 31_337, args = [] }: AnvilSettings = {}) => {
  const { url, stop } = await launch(chainId, args);
  const chain = { ...anvilChain, id: chainId };
  const client = createTestClient({
    mode: "anvil",
    chain,
    transport: http(url, { retryCount: 0 }),
    pollingInterval: 20,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions);

  const account = (index: number): Account & { readonly address: Hex } => {
    const found = accounts[index];
    if (found === undefined) throw new Error(`there is no account ${index}`);
    return found;
  };
  const wallet = (index: number): Address => lower(account(index).address);

  /** Asked for until it is there: viem asks once a block, and a block may be told of before its receipts. */
  const receiptOf = async (hash: Hex): Promise<TransactionReceipt> => {
    const found = await until(
      `the receipt of ${hash}`,
      () =>
        client.getTransactionReceipt({ hash }).catch((error: unknown) => {
          if (error instanceof TransactionReceiptNotFoundError) return undefined;
          throw error;
        }),
      (receipt) => receipt !== undefined,
      60_000,
    );
    if (found === undefined) throw new Error(`no receipt of ${hash}`);
    return found;
  };

  const settle = async (hash: Hex): Promise<TransactionReceipt> => {
    const receipt = await receiptOf(hash);
    if (receipt.status !== "success") throw new Error(`transaction ${hash} was reverted`);
    return receipt;
  };

  /** Sends without waiting, with plenty of gas: for blocks of several transactions. */
  const submit = (to: Address | null, data: Hex, from = 0) =>
    client.sendTransaction({ account: account(from), chain, to, data, gas: 12_000_000n });

  const deploy = async (
    name: string,
    constructorArgs: readonly unknown[] = [],
  ): Promise<Deployed> => {
    const { abi, bytecode } = contract(name);
    const parameters: Pick<DeployContractParameters, "abi" | "bytecode" | "args"> = {
      abi,
      bytecode,
      args: [...constructorArgs],
    };
    const receipt = await settle(await submit(null, encodeDeployData(parameters)));
    if (!receipt.contractAddress) throw new Error(`${name} was not created`);
    return { abi, bytecode, address: lower(receipt.contractAddress), receipt };
  };

  const encode = ({ abi }: Compiled, functionName: string, callArgs: readonly unknown[]): Hex =>
    encodeFunctionData({ abi, functionName, args: [...callArgs] });

  return {
    url,
    chainId,
    client,
    wallet,
    submit,
    deploy,
    encode,
    settle,
    /** Calls a function in a transaction of account `from`. */
    send: async (to: Deployed, functionName: string, callArgs: readonly unknown[], from = 0) =>
      settle(await submit(to.address, encode(to, functionName, callArgs), from)),
    /** What a function returns now. */
    read: async (to: Deployed, functionName: string, callArgs: readonly unknown[]) => {
      const { data } = await client.call({
        to: to.address,
        data: encode(to, functionName, callArgs),
      });
      return decodeFunctionResult({ abi: to.abi, functionName, data: data ?? "0x" });
    },
    /** A request of anvil's own, such as `anvil_reorg`. */
    request: async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      const reply: { result?: unknown; error?: { message: string } } = JSON.parse(
        await response.text(),
      );
      if (reply.error) throw new Error(`${method}: ${reply.error.message}`);
      return reply.result;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

const lower = (address: Hex): Address => `0x${address.slice(2).toLowerCase()}`;

const launch = async (chainId: number, args: readonly string[]) => {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const file = process.platform === "win32" ? "anvil.exe" : "anvil";
  const binary = require.resolve(
    `@foundry-rs/anvil-${process.platform}-${architecture}/bin/${file}`,
  );
  const child = spawn(
    binary,
    ["--host", "127.0.0.1", "--port", "0", "--chain-id", `${chainId}`, ...args],
    // Its report of every request would fill the pipe; it is read until the port is known.
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const exited = once(child, "exit");
  let output = "";
  const port = await new Promise<string>((resolve, reject) => {
    const seen = (chunk: Buffer) => {
      output += chunk.toString();
      const listening = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (listening?.[1] !== undefined) resolve(listening[1]);
    };
    child.stdout.on("data", seen);
    child.stderr.on("data", seen);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`anvil ended with ${code}: ${output}`)));
    setTimeout(() => reject(new Error(`anvil does not listen: ${output}`)), START_MS).unref();
  });
  child.stdout.removeAllListeners("data").resume();
  child.stderr.removeAllListeners("data").resume();
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
};
