/**
 * Contracts that call others for a sender, such as Safe wallets. Recognised by function, since each
 * deployment has its own address.
 */
import { decodeFunctionData, type Hex, parseAbi, slice, toFunctionSelector } from "viem";
import { type Address, lowerCase, zeroAddress } from "./fact.ts";
import { selectorOf } from "./functions.ts";

export type Call = {
  /** Null for a delegate call into unknown code, which may do anything as the caller. */
  readonly to: Address | null;
  readonly input: Hex;
};

const forwarding = parseAbi([
  // Safe: the wallet itself, and through a module.
  "function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)",
  "function execTransactionFromModule(address to, uint256 value, bytes data, uint8 operation)",
  "function multiSend(bytes transactions)",
  // ERC-2771 forwarders of OpenZeppelin, generation 4 and 5.
  "function execute((address from, address to, uint256 value, uint256 gas, uint256 nonce, bytes data) request, bytes signature)",
  "function execute((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature) request)",
  "function executeBatch((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature)[] requests, address refundReceiver)",
  // A contract that calls itself several times.
  "function multicall(bytes[] data)",
  "function multicall(uint256 deadline, bytes[] data)",
  // Multicall, generations 1 to 3.
  "function aggregate((address target, bytes callData)[] calls)",
  "function tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)",
  "function blockAndAggregate((address target, bytes callData)[] calls)",
  "function tryBlockAndAggregate(bool requireSuccess, (address target, bytes callData)[] calls)",
  "function aggregate3((address target, bool allowFailure, bytes callData)[] calls)",
  "function aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)",
  // Smart accounts.
  "function execute(address target, uint256 value, bytes data)",
  "function executeBatch(address[] targets, bytes[] data)",
  "function executeBatch(address[] targets, uint256[] values, bytes[] data)",
]);

const selectors: ReadonlySet<Hex> = new Set(forwarding.map((item) => toFunctionSelector(item)));

/** The calls that a forwarder makes, in order; undefined for an unknown or malformed input. */
export const innerCalls = (call: Call): readonly Call[] | undefined => {
  const selector = selectorOf(call.input);
  if (selector === undefined || !selectors.has(selector)) return undefined;
  try {
    return unwrap(call);
  } catch {
    // Undecodable arguments: the selector does not describe this call.
    return undefined;
  }
};

const unwrap = (call: Call): readonly Call[] => {
  const { functionName, args } = decodeFunctionData({ abi: forwarding, data: call.input });
  switch (functionName) {
    case "execTransaction":
      return [operation(args[0], args[2], args[3]), ...refund(args[6], args[7])];
    case "execTransactionFromModule":
      return [operation(args[0], args[2], args[3])];
    case "multiSend":
      return packed(args[0]);
    case "execute":
      if (args.length === 3) return [{ to: lowerCase(args[0]), input: args[2] }];
      return [{ to: lowerCase(args[0].to), input: args[0].data }];
    case "executeBatch": {
      if (args.length === 3) return zip(args[0], args[2]);
      const [first, second] = args;
      return isRequests(first)
        ? first.map(({ to, data }) => ({ to: lowerCase(to), input: data }))
        : zip(first, Array.isArray(second) ? second : []);
    }
    case "multicall":
      return (args.length === 1 ? args[0] : args[1]).map((input) => ({ to: call.to, input }));
    case "aggregate":
    case "blockAndAggregate":
    case "aggregate3":
    case "aggregate3Value":
      return targets(args[0]);
    case "tryAggregate":
    case "tryBlockAndAggregate":
      return targets(args[1]);
  }
};

type Requests = readonly { readonly to: Hex; readonly data: Hex }[];

const isRequests = (value: Requests | readonly Hex[]): value is Requests =>
  value.every((item) => typeof item === "object");

const targets = (calls: readonly { readonly target: Hex; readonly callData: Hex }[]) =>
  calls.map(({ target, callData }) => ({ to: lowerCase(target), input: callData }));

const zip = (to: readonly Hex[], data: readonly Hex[]): readonly Call[] => {
  if (to.length !== data.length) throw new Error("targets and data differ in number");
  return to.map((address, i) => ({ to: lowerCase(address), input: data[i] ?? "0x" }));
};

const DELEGATE_CALL = 1;

/** Safe's operation: of delegate calls, only those to a MultiSend are decoded. */
const operation = (to: Hex, data: Hex, kind: number): Call => {
  const known = kind !== DELEGATE_CALL || selectorOf(data) === MULTI_SEND;
  return { to: known ? lowerCase(to) : null, input: data };
};

/** A Safe's refund is a token transfer that no call requests, so it has no method name. */
const refund = (gasPrice: bigint, gasToken: Hex): readonly Call[] => {
  const paidIn = lowerCase(gasToken);
  return gasPrice > 0n && paidIn !== zeroAddress ? [{ to: paidIn, input: "0x" }] : [];
};

const MULTI_SEND = toFunctionSelector("multiSend(bytes)");

/** MultiSend packs: operation (1 byte), to (20), value (32), length of data (32), data. */
const packed = (transactions: Hex): readonly Call[] => {
  const calls: Call[] = [];
  const size = (transactions.length - 2) / 2;
  for (let at = 0; at < size; ) {
    const length = Number(BigInt(slice(transactions, at + 53, at + 85, { strict: true })));
    if (at + 85 + length > size) throw new Error("data runs past the end");
    const to = slice(transactions, at + 1, at + 21, { strict: true });
    const data = length === 0 ? "0x" : slice(transactions, at + 85, at + 85 + length);
    calls.push(operation(to, data, Number(slice(transactions, at, at + 1))));
    at += 85 + length;
  }
  return calls;
};
