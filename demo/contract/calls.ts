/** Calls of the security-token package as plain data, to be stored and executed later. */
import { Draft } from "../chain/draft.ts";
import type { Execution } from "../chain/execution.ts";
import { cancel, claim, claimInto, destroyEmpty, fund } from "./grants.ts";
import {
  addHolder,
  addHolderAddress,
  clearAddressGroup,
  removeHolder,
  removeHolderAddress,
  setAddressFrozen,
  setAddressGroup,
} from "./register.ts";
import { grantRole, revokeRole } from "./roles.ts";
import { type ContractFunction, runningPackage, type Securities } from "./securities.ts";
import { burn, burnAmount, join, mint, split } from "./tokens.ts";
import { forceTransfer, transfer, transferAmount } from "./transfers.ts";

const functions = {
  mint,
  burn,
  burnAmount,
  split,
  join,
  transfer,
  transferAmount,
  forceTransfer,
  fund,
  claim,
  claimInto,
  cancel,
  destroyEmpty,
  addHolder,
  addHolderAddress,
  removeHolder,
  removeHolderAddress,
  setAddressGroup,
  clearAddressGroup,
  setAddressFrozen,
  grantRole,
  revokeRole,
};

/** `module::function` of all callable functions, as in the Move package. */
export const MOVE_FUNCTIONS: readonly string[] = Object.values(functions).map(({ name }) => name);

type Functions = typeof functions;
type FunctionName = keyof Functions;
/** Arguments by function name. */
type Arguments = {
  [Name in FunctionName]: { readonly coinType: string } & ArgumentsOf<Functions[Name]>;
};
type ArgumentsOf<Function> = Function extends ContractFunction<infer Args> ? Args : never;

export type Call<Name extends FunctionName = FunctionName> = {
  [N in Name]: { readonly function: N; readonly args: Arguments[N] };
}[Name];

/** Typed so that a name and its arguments match. */
const byName: { readonly [Name in FunctionName]: ContractFunction<Arguments[Name]> } = functions;

/** Adds a call of the newest package version. */
const addCall = <Name extends FunctionName>(
  draft: Draft,
  call: Call<Name>,
  state: Securities,
): void => {
  const called = byName[call.function];
  draft.call(
    { package: runningPackage(state), function: called.name },
    [call.args.coinType, ...(called.moreTypes?.(call.args) ?? [])],
    called.inputs(draft, call.args, state),
  );
};

const run = <Name extends FunctionName>(
  execution: Execution,
  call: Call<Name>,
  state: Securities,
): void => byName[call.function].run(execution, call.args, state);

/** One programmable transaction with a command per call. */
export const draftOf = (calls: readonly Call[], state: Securities): Draft => {
  const draft = new Draft();
  for (const call of calls) addCall(draft, call, state);
  return draft;
};

/** @throws MoveAbort */
export const runCalls = (execution: Execution, calls: readonly Call[], state: Securities): void => {
  for (const [index, call] of calls.entries()) {
    execution.command = index;
    run(execution, call, state);
  }
};
