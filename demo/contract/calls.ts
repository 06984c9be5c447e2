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
import {
  type ContractFunction,
  type ForeignCaller,
  runningPackage,
  type Securities,
  treasuryOf,
} from "./securities.ts";
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
export type FunctionName = keyof Functions;
/** Arguments by function name. */
export type Arguments = {
  [Name in FunctionName]: { readonly coinType: string } & ArgumentsOf<Functions[Name]>;
};
type ArgumentsOf<Function> = Function extends ContractFunction<infer Args> ? Args : never;

export type Call<Name extends FunctionName = FunctionName> = {
  [N in Name]: { readonly function: N; readonly args: Arguments[N] };
}[Name];

/** Typed so that a name and its arguments match. */
const byName: { readonly [Name in FunctionName]: ContractFunction<Arguments[Name]> } = functions;

/**
 * One programmable transaction with a command per call.
 * @param through a package that calls ours; otherwise our newest version is called directly
 */
export const draftOf = <Name extends FunctionName>(
  calls: readonly Call<Name>[],
  state: Securities,
  through?: ForeignCaller,
): Draft => {
  const draft = new Draft();
  for (const { function: name, args } of calls) {
    const called = byName[name];
    const treasury = treasuryOf(state, args.coinType).id;
    draft.call(
      through === undefined
        ? { package: runningPackage(state), function: called.name }
        : { package: through.package, function: `${through.module}::${functionOf(called.name)}` },
      [args.coinType, ...(called.moreTypes?.(args) ?? [])],
      called
        .inputs({ ...args, treasury })
        .map((input) =>
          input instanceof Uint8Array ? draft.pure(input) : draft.shared(input.id, input.access),
        ),
    );
  }
  return draft;
};

/** @throws MoveAbort */
export const runCalls = <Name extends FunctionName>(
  execution: Execution,
  calls: readonly Call<Name>[],
  state: Securities,
  through?: ForeignCaller,
): void => {
  for (const [index, { function: name, args }] of calls.entries()) {
    execution.command = index;
    const called = byName[name];
    const { coinType } = args;
    called.run({ execution, state, coinType, by: called.name, ...(through && { through }) }, args);
  }
};

const functionOf = (name: string): string => name.slice(name.indexOf("::") + 2);
