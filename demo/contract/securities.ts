/** State of the simulated package, and what its functions share: type origins, roles, events. */

import { base58 } from "../../src/values/base58.ts";
import { type Execution, MoveAbort, SimulationError } from "../chain/execution.ts";
import type { CoinModel, DemoModel, EventPlace, RegisterModel } from "../model.ts";
import type { Roster } from "../random.ts";
import { type Table, treasuryContents } from "./layouts.ts";

/** Treasury of a coin type, with its tables. */
export type Treasury = {
  readonly id: string;
  readonly coinType: string;
  readonly roles: Table;
  readonly wallets: Table;
  readonly groups: Table;
  readonly holders: Table;
};

/** Live objects and wallets of a coin type, to draw from. */
export type Rosters = {
  readonly tokens: Roster;
  readonly grants: Roster;
  readonly wallets: Roster;
};

/** State of the security-token package: plain data. */
export type Securities = {
  /** Published versions, original first. */
  readonly packages: string[];
  readonly model: DemoModel;
  readonly treasuries: Map<string, Treasury>;
  readonly rosters: Map<string, Rosters>;
  /** Whether the model keeps events; a long-running ledger would exhaust memory. */
  readonly keepsEvents: boolean;
};

/** An input of a call: a BCS value, or a shared object. */
type CallInput = Uint8Array | { readonly id: string; readonly access: "read" | "write" };

export const read = (id: string): CallInput => ({ id, access: "read" });
export const write = (id: string): CallInput => ({ id, access: "write" });

/** A call of a function while it runs. */
export type RunningCall = {
  readonly execution: Execution;
  readonly state: Securities;
  readonly coinType: string;
  /** `module::function` */
  readonly by: string;
  readonly through?: ForeignCaller;
};

/** A module of another package whose functions call ours by the same names. */
export type ForeignCaller = { readonly package: string; readonly module: string };

/** A function of the package: how to call it, and its code. */
export type ContractFunction<Args> = {
  /** `module::function` */
  readonly name: string;
  /** Its inputs in order; `treasury` is the id of the coin type's treasury. */
  readonly inputs: (args: Readonly<Args & { treasury: string }>) => readonly CallInput[];
  /** Type parameters after the coin type. */
  readonly moreTypes?: (args: Readonly<Args>) => readonly string[];
  /** @throws MoveAbort */
  readonly run: (call: RunningCall, args: Readonly<Args>) => void;
};

/** Modules of the second version; all others are of the first. */
const IN_SECOND_VERSION = new Set(["freeze_rule", "timelock"]);

/** Address of the version that first defined a module's types. */
export const definedBy = (state: Securities, module: string): string =>
  state.packages[IN_SECOND_VERSION.has(module) ? 1 : 0] ?? "";

/** Full name of a package type for a coin type. */
export const typeOf = (state: Securities, name: string, coinType: string): string =>
  `${definedBy(state, name.slice(0, name.indexOf("::")))}::${name}<${coinType}>`;

/** The newest version, whose code runs. */
export const runningPackage = (state: Securities): string => state.packages.at(-1) ?? "";

export const ROLES = [
  "ContractAdmin",
  "ReserveAdmin",
  "WalletsAdmin",
  "TransferAdmin",
  "TimelockCanceler",
] as const;
export type Role = (typeof ROLES)[number];

/** Full name of a role type. */
export const roleType = (state: Securities, role: Role): string =>
  `${definedBy(state, "roles")}::roles::${role}`;

export const treasuryOf = (state: Securities, coinType: string): Treasury =>
  known(state.treasuries.get(coinType), coinType);

export const coinOf = (state: Securities, coinType: string): CoinModel =>
  known(state.model.coins.get(coinType), coinType);

export const registerOf = (state: Securities, coinType: string): RegisterModel =>
  known(state.model.registers.get(coinType), coinType);

export const rostersOf = (state: Securities, coinType: string): Rosters =>
  known(state.rosters.get(coinType), coinType);

const known = <Value>(value: Value | undefined, coinType: string): Value => {
  if (value === undefined) throw new SimulationError(`${coinType} is not a coin of this ledger`);
  return value;
};

/**
 * Aborts like `assert!`.
 * @param by `module::function` that asserts
 * @throws MoveAbort
 */
export function ensure(holds: boolean, by: string, code: bigint, reason: string): asserts holds {
  if (holds) return;
  const [module = "", functionName = ""] = by.split("::");
  const location = { module, functionName, functionIndex: functionName.length, instruction: 9 };
  throw new MoveAbort(location, code, reason);
}

/** The object named by an argument; aborts when it is not of the call's coin type. */
export const argumentOf = <Model extends { readonly coinType: string }>(
  { coinType, by }: RunningCall,
  object: Model | undefined,
  reason: string,
): Model => {
  // The network would refuse the argument before running code.
  ensure(object?.coinType === coinType, by, 6n, reason);
  return object;
};

/** Aborts unless the sender has the role. */
export const ensureRole = ({ execution, state, coinType }: RunningCall, role: Role): void =>
  ensure(
    hasRole(state, coinType, execution.sender, roleType(state, role)),
    "controlled_treasury::assert_role",
    0n,
    `the sender is not a ${role}`,
  );

export const hasRole = (
  state: Securities,
  coinType: string,
  owner: string,
  role: string,
): boolean => state.model.roles.get(coinType)?.get(owner)?.includes(role) ?? false;

/** Writes the treasury, optionally with a new supply. */
export const writeTreasury = (
  { execution, state, coinType }: RunningCall,
  treasury: Treasury,
  supply = coinOf(state, coinType).supply,
): void => {
  execution.set(state.treasuries, coinType, treasury);
  const coin = coinOf(state, coinType);
  if (coin.supply !== supply) execution.set(state.model.coins, coinType, { ...coin, supply });
  execution.write(treasury.id, treasuryContents(treasury, supply));
};

/**
 * Emits an event of the package; on success, if events are kept, appends `entry` to `log`.
 * @param name `module::Name` of the event's type
 */
export const announce = <Details extends object>(
  { execution, state, coinType, by, through }: RunningCall,
  name: string,
  contents: Uint8Array,
  log: (EventPlace & Details)[],
  entry: NoInfer<Details>,
): void => {
  const eventSeq = execution.events.length;
  execution.emit(
    through ?? { package: runningPackage(state), module: by.slice(0, by.indexOf("::")) },
    typeOf(state, name, coinType),
    contents,
  );
  if (!state.keepsEvents) return;
  execution.onSuccess(() => {
    const { sequence: checkpoint, timestampMs, sender: signer, index } = execution;
    const txDigest = base58(execution.digest);
    const eventId = `${txDigest}-${eventSeq}`;
    const position = checkpoint * 1_000_000_000n + BigInt(index) * 10_000n + BigInt(eventSeq);
    const place = {
      coinType,
      eventId,
      txDigest,
      eventSeq,
      checkpoint,
      position,
      timestampMs,
      signer,
    };
    log.push({ ...place, ...entry });
  });
};
