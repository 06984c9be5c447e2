/** The contract method behind a Transfer log, read from the transaction's input, never guessed. */
import { getContractAddress, type Hex } from "viem";
import { type Address, type EvmTransaction, zeroAddress } from "../contract/fact.ts";
import { type Call, innerCalls } from "../contract/forwarders.ts";
import { movingBySelector, quietBySelector, selectorOf } from "../contract/functions.ts";
import { type Movement, movementsOf } from "../contract/movements.ts";

export type Moved = { readonly from: Address; readonly to: Address; readonly amount: bigint };

const unknownMethod = "unknown";

/** Forwarders inside forwarders: real ones nest two or three deep. */
const MAX_DEPTH = 8;

/** Calls of one transaction: real batches have thousands, more would be an attack. */
const MAX_CALLS = 20_000;

/**
 * Method names for the Transfers of one transaction:
 *
 * - The creating transaction: `constructor`.
 * - A call to the token (or its lockup): the function of its selector.
 * - A known forwarder or multisend: the function of the inner call. When several functions reach
 *   the token, or the transaction also calls unknown contracts, the calls that match a Transfer
 *   exactly name it, if they agree.
 * - Anything else: `unknown`.
 *
 * @param contracts the token and, in version 1, its lockup
 */
export const methodNames = (
  transaction: EvmTransaction,
  contracts: ReadonlySet<Address>,
): ((moved: Moved) => string) => {
  const { to, from, nonce, input } = transaction;
  if (to === null) {
    const created = getContractAddress({ from, nonce }).toLowerCase();
    const name = [...contracts].some((address) => address === created)
      ? "constructor"
      : unknownMethod;
    return () => name;
  }
  const { calls, opaque } = tokenCalls({ to, input }, contracts);
  const names = new Set(calls.map(({ name }) => name));
  const [only] = names;
  if (names.size === 1 && only !== undefined && !opaque) return () => only;

  const asking = calls.map(({ name, input }) => ({ name, asks: movementsOf(input) }));
  // A call whose amounts only the contract knows may cause any of the Transfers.
  if (asking.some(({ asks }) => asks === undefined)) return () => unknownMethod;
  return (moved) => {
    const fitting = new Set(
      asking.filter(({ asks = [] }) => fits(asks, moved, contracts)).map(({ name }) => name),
    );
    const [name] = fitting;
    return fitting.size === 1 && name !== undefined ? name : unknownMethod;
  };
};

type TokenCall = { readonly name: string; readonly input: Hex };

/** Calls that reach the token; `opaque` when any other call cannot be decoded. */
const tokenCalls = (outer: Call, contracts: ReadonlySet<Address>) => {
  const calls: TokenCall[] = [];
  let opaque = false;
  let left = MAX_CALLS;
  const visit = (call: Call, depth: number) => {
    left -= 1;
    const inner = depth < MAX_DEPTH && left > 0 ? innerCalls(call) : undefined;
    if (inner !== undefined) {
      for (const each of inner) visit(each, depth + 1);
      return;
    }
    const selector = selectorOf(call.input);
    if (call.to === null || !contracts.has(call.to) || selector === undefined) {
      opaque = true;
      return;
    }
    const moving = movingBySelector.get(selector);
    if (moving !== undefined) calls.push({ name: moving.name, input: call.input });
    else if (!quietBySelector.has(selector)) opaque = true;
  };
  visit(outer, 0);
  return { calls, opaque };
};

const fits = (asks: readonly Movement[], moved: Moved, contracts: ReadonlySet<Address>): boolean =>
  asks.some(
    ({ from, to, amount }) =>
      amount === moved.amount &&
      // Older contracts pass tokens through themselves: either end may be the contract.
      (from === undefined
        ? moved.from !== zeroAddress
        : from === moved.from || contracts.has(moved.from)) &&
      (to === undefined || to === moved.to || contracts.has(moved.to)),
  );
