/**
 * State of the simulated security-token package and what its functions share: type origins, role
 * checks, and events.
 */

import { base58 } from "../../src/values/base58.ts";
import type { Draft } from "../chain/draft.ts";
import { type Execution, MoveAbort, SimulationError } from "../chain/execution.ts";
import type { CoinModel, DemoModel, EventPlace, RegisterModel } from "../model.ts";
import type { Roster } from "../random.ts";
import type { AbortLocation } from "../wire/effects.ts";
import type { Argument } from "../wire/transaction.ts";
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

/** A function of the package: how to call it, and its code. */
export type ContractFunction<Args> = {
  /** `module::function` */
  readonly name: string;
  /** Adds its arguments to the draft as inputs. */
  readonly inputs: (draft: Draft, args: OfCoin<Args>, state: Securities) => readonly Argument[];
  /** Type parameters after the coin type. */
  readonly moreTypes?: (args: OfCoin<Args>) => readonly string[];
  /** @throws MoveAbort */
  readonly run: (execution: Execution, args: OfCoin<Args>, state: Securities) => void;
};
type OfCoin<Args> = Readonly<Args & { coinType: string }>;

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
 * @throws MoveAbort
 */
export function ensure(
  holds: boolean,
  error: { readonly name: string; readonly code: bigint; readonly reason: string },
): asserts holds {
  if (holds) return;
  const [module = "", functionName = ""] = error.name.split("::");
  const location: Omit<AbortLocation, "package"> = {
    module,
    functionName,
    functionIndex: functionName.length,
    instruction: 9,
  };
  throw new MoveAbort(location, error.code, error.reason);
}

/** The object named by an argument; aborts when it is not of this coin type. */
export const argumentOf = <Model extends { readonly coinType: string }>(
  object: Model | undefined,
  coinType: string,
  by: string,
  reason: string,
): Model => {
  // The network would refuse the argument before running code.
  ensure(object?.coinType === coinType, { name: by, code: 6n, reason });
  return object;
};

/** Aborts unless the sender has the role. */
export const ensureRole = (
  execution: Execution,
  state: Securities,
  coinType: string,
  role: Role,
): void =>
  ensure(hasRole(state, coinType, execution.sender, roleType(state, role)), {
    name: "controlled_treasury::assert_role",
    code: 0n,
    reason: `the sender is not a ${role}`,
  });

export const hasRole = (
  state: Securities,
  coinType: string,
  owner: string,
  role: string,
): boolean => state.model.roles.get(coinType)?.get(owner)?.includes(role) ?? false;

/** Writes the treasury, optionally with a new supply. */
export const writeTreasury = (
  execution: Execution,
  state: Securities,
  treasury: Treasury,
  supply = coinOf(state, treasury.coinType).supply,
): void => {
  execution.set(state.treasuries, treasury.coinType, treasury);
  const coin = coinOf(state, treasury.coinType);
  if (coin.supply !== supply) {
    execution.set(state.model.coins, coin.coinType, { ...coin, supply });
  }
  execution.write(treasury.id, treasuryContents(treasury, supply));
};

/** Emits an event of the package; on success, if events are kept, appends `entry` to `log`. */
export const announce = <Entry extends EventPlace>(
  execution: Execution,
  state: Securities,
  event: {
    /** The called function. */
    readonly by: string;
    /** `module::Name` of the event's type. */
    readonly name: string;
    readonly coinType: string;
    readonly contents: Uint8Array;
  },
  log: Entry[],
  entry: (place: EventPlace) => NoInfer<Entry>,
): void => {
  const eventSeq = execution.events.length;
  execution.emit(
    { package: runningPackage(state), module: event.by.slice(0, event.by.indexOf("::")) },
    typeOf(state, event.name, event.coinType),
    event.contents,
  );
  if (!state.keepsEvents) return;
  execution.onSuccess(() => {
    const txDigest = base58(execution.digest);
    log.push(
      entry({
        coinType: event.coinType,
        eventId: `${txDigest}-${eventSeq}`,
        txDigest,
        eventSeq,
        checkpoint: execution.sequence,
        position:
          execution.sequence * 1_000_000_000n +
          BigInt(execution.index) * 10_000n +
          BigInt(eventSeq),
        timestampMs: execution.timestampMs,
        signer: execution.sender,
      }),
    );
  });
};
