/** The method behind a Transfer: read from what the transaction calls, through whatever forwards it. */
import {
  encodeFunctionData,
  getContractAddress,
  type Hex,
  pad,
  parseAbi,
  toFunctionSelector,
} from "viem";
import { expect, test } from "vitest";
import type { Address, EvmTransaction } from "../../src/evm/contract/fact.ts";
import { movingFunctions } from "../../src/evm/contract/functions.ts";
import { methodNames } from "../../src/evm/movements/method-name.ts";

const wallet = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
const tokenAddress = wallet(0xaaaa);

const transaction = (members: Partial<EvmTransaction> = {}): EvmTransaction => ({
  hash: pad("0x1"),
  index: 0,
  from: wallet(1),
  to: tokenAddress,
  nonce: 0n,
  input: toFunctionSelector("transfer(address,uint256)"),
  ...members,
});

const named = (
  members: Partial<EvmTransaction>,
  moves: { from?: Address; to?: Address; amount?: bigint } = {},
) =>
  methodNames(
    transaction(members),
    new Set([tokenAddress]),
  )({ from: wallet(1), to: wallet(2), amount: 5n, ...moves });

const call = (functionName: "transfer" | "mint", to: Address, amount: bigint) =>
  encodeFunctionData({ abi: movingFunctions, functionName, args: [to, amount] });

const relays = parseAbi([
  "function aggregate((address target, bytes callData)[] calls)",
  "function execute((address from, address to, uint256 value, uint256 gas, uint256 nonce, bytes data) request, bytes signature)",
  "function executeBatch(address[] targets, bytes[] data)",
  "function multicall(bytes[] data)",
]);

const aggregate = (...calls: readonly (readonly [Address, Hex])[]) =>
  encodeFunctionData({
    abi: relays,
    functionName: "aggregate",
    args: [calls.map(([target, callData]) => ({ target, callData }))],
  });

test("a creating transaction is named only where it created the token itself", () => {
  const to = null;
  const created = getContractAddress({ from: wallet(1), nonce: 4n });
  const contracts = new Set<Address>([`0x${created.slice(2).toLowerCase()}`]);
  const moves = { from: wallet(0), to: wallet(1), amount: 1n };
  expect(methodNames(transaction({ to, nonce: 4n }), contracts)(moves)).toBe("constructor");
  expect(methodNames(transaction({ to, nonce: 5n }), contracts)(moves)).toBe("unknown");
});

test("a method is named by its selector, and an unknown one stays unnamed", () => {
  expect(named({})).toBe("transfer");
  expect(named({ input: "0x12345678" })).toBe("unknown");
  expect(named({ input: "0x" })).toBe("unknown");
  expect(named({ to: wallet(77) })).toBe("unknown");
});

test("the call inside a forwarder, a batch or a multicall supplies the name", () => {
  const data = call("transfer", wallet(2), 5n);
  const request = { from: wallet(1), to: tokenAddress, value: 0n, gas: 0n, nonce: 0n, data };
  const execute = encodeFunctionData({
    abi: relays,
    functionName: "execute",
    args: [request, "0x"],
  });
  expect(named({ to: wallet(77), input: execute })).toBe("transfer");
  const batch = encodeFunctionData({
    abi: relays,
    functionName: "executeBatch",
    args: [[tokenAddress], [data]],
  });
  expect(named({ to: wallet(77), input: batch })).toBe("transfer");
  const multicall = encodeFunctionData({ abi: relays, functionName: "multicall", args: [[data]] });
  expect(named({ input: multicall })).toBe("transfer");
  // Forwarders forward to forwarders.
  expect(named({ to: wallet(77), input: aggregate([wallet(78), execute]) })).toBe("transfer");
});

test("among several calls only the one that requests exactly the transfer names it", () => {
  const both = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [tokenAddress, call("mint", wallet(2), 5n)],
  );
  const to = wallet(77);
  expect(named({ to, input: both })).toBe("transfer");
  expect(named({ to, input: both }, { from: wallet(0) })).toBe("mint");
  expect(named({ to, input: both }, { amount: 6n })).toBe("unknown");
  // Another account's call may have moved tokens as well.
  const beside = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [wallet(99), "0x12345678"],
  );
  expect(named({ to, input: beside })).toBe("transfer");
  expect(named({ to, input: beside }, { amount: 6n })).toBe("unknown");
  // A cancel computes its amounts: beside another method it could be either.
  const cancel = toFunctionSelector(
    "cancelTimelock(address,uint256,uint256,uint256,uint256,address)",
  );
  const withCancel = aggregate(
    [tokenAddress, call("transfer", wallet(2), 5n)],
    [tokenAddress, cancel],
  );
  expect(named({ to, input: withCancel })).toBe("unknown");
  expect(named({ to, input: aggregate([tokenAddress, cancel]) })).toBe("cancelTimelock");
});

test("truncated, endlessly nested or huge input costs little and names nothing", () => {
  let input = call("transfer", wallet(2), 5n);
  for (let depth = 0; depth < 12; depth += 1) input = aggregate([wallet(77), input]);
  expect(named({ to: wallet(77), input })).toBe("unknown");
  const torn: Hex = `0x${aggregate([tokenAddress, call("transfer", wallet(2), 5n)]).slice(2, 180)}`;
  expect(named({ to: wallet(77), input: torn })).toBe("unknown");
});

test("a Safe that pays for its transaction in the token has no refund named after the inner call", () => {
  const safe = parseAbi([
    "function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)",
  ]);
  const wrapped = (gasPrice: bigint, gasToken: Address) =>
    encodeFunctionData({
      abi: safe,
      functionName: "execTransaction",
      args: [
        tokenAddress,
        0n,
        call("mint", wallet(2), 5n),
        0,
        0n,
        0n,
        gasPrice,
        gasToken,
        wallet(8),
        "0x",
      ],
    });
  const to = wallet(77);
  const minted = { from: wallet(0), to: wallet(2), amount: 5n };
  const refund = { from: to, to: wallet(8), amount: 300n };
  const paying = wrapped(1n, tokenAddress);
  expect(named({ to, input: paying }, minted)).toBe("mint");
  expect(named({ to, input: paying }, refund)).toBe("unknown");
  // Paid in the chain's own coin, or not at all: whatever moved was moved by the call.
  for (const input of [wrapped(1n, wallet(0)), wrapped(0n, tokenAddress)]) {
    expect(named({ to, input }, refund)).toBe("mint");
  }
});
