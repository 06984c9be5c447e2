/** Context of the simulated people: state, keys and open checkpoint. */

import { Draft } from "../chain/draft.ts";
import { execute, type Outcome, type Signed } from "../chain/execute.ts";
import type { Execution } from "../chain/execution.ts";
import type { Keyring } from "../chain/keyring.ts";
import { type Chain, coinBalance, coinContents, type OpenCheckpoint } from "../chain/state.ts";
import {
  type Arguments,
  type Call,
  draftOf,
  type FunctionName,
  runCalls,
} from "../contract/calls.ts";
import { address, u64 } from "../contract/layouts.ts";
import type { ForeignCaller, Securities } from "../contract/securities.ts";
import { chance, type Dice, type Roster } from "../random.ts";
import { GAS_COIN_TYPE } from "../wire/type-tag.ts";

/** Where a ledger is in the company's two years: plain data, to be saved. */
export type Company = {
  /** Unix ms. */
  readonly foundedMs: bigint;
  /** The next day to play. */
  day: number;
};

/** State of a simulation between checkpoints: plain data, to be saved. */
export type World = {
  readonly chain: Chain;
  readonly securities: Securities;
  readonly dice: Dice;
  /** Look-alike and exchange, once published. */
  readonly foreignPackages: string[];
  readonly imitations: string[];
  /** Upgrade cap of the security-token package. */
  upgradeCap: string;
  /** Unrelated objects that sometimes change. */
  readonly strangers: Roster;
  /** The company whose two years are played; absent: chance alone acts. */
  readonly company?: Company;
};

export type Pace = {
  /** Investors that the register grows to. */
  readonly investors: number;
  /** Share of unrelated actions, 0 to 1. */
  readonly noise: number;
  /** Average actions per checkpoint after the opening. */
  readonly actionsPerCheckpoint: number;
  readonly epochLength: bigint;
  /** Share of transactions that call the contract through another package; absent: none. */
  readonly foreign?: number;
  /** First checkpoint that commits to the objects it wrote; absent: none does. */
  readonly commitsFrom?: bigint;
};

/** The open checkpoint and its context. */
export type Stage = {
  readonly world: World;
  readonly pace: Pace;
  readonly keyring: Keyring;
  readonly open: OpenCheckpoint;
};

/** Initial and minimum balance of an account's gas coin, in MIST. */
export const GAS_COIN_BALANCE = 1_000_000_000_000n;
const LEAST = 1_000_000_000n;

/** The account that funds all others. */
export const FAUCET = "faucet";

export const account = (stage: Stage, label: string): string => stage.keyring.account(label);

/** A transaction with one call of the security-token package. */
export const transact = <Name extends FunctionName>(
  stage: Stage,
  sender: string,
  name: Name,
  args: Arguments[Name],
): Outcome => {
  const call: Call<Name> = { function: name, args };
  return transactAll(stage, sender, [call]);
};

/** The same with several calls, all undone when one aborts. */
export const transactAll = <Name extends FunctionName>(
  stage: Stage,
  sender: string,
  calls: readonly Call<Name>[],
): Outcome => {
  const { securities } = stage.world;
  const through = foreignCaller(stage);
  return perform(stage, sender, draftOf(calls, securities, through), (execution) =>
    runCalls(execution, calls, securities, through),
  );
};

/** Draws only where the pace says so: ledgers without foreign calls keep their bytes. */
const foreignCaller = ({ world, pace }: Stage): ForeignCaller | undefined => {
  const [, exchange] = world.foreignPackages;
  if (pace.foreign === undefined || exchange === undefined) return undefined;
  return chance(world.dice, pace.foreign) ? { package: exchange, module: "pool" } : undefined;
};

/**
 * Any transaction.
 * @param signed set when it comes from outside, with its own gas
 */
export const perform = (
  stage: Stage,
  sender: string,
  draft: Draft,
  run: (execution: Execution) => void,
  signed?: Signed,
): Outcome => {
  if (signed === undefined) fundSender(stage, sender);
  const { chain, securities } = stage.world;
  const outcome = execute(chain, stage.keyring, stage.open, { sender, draft, signed }, run);
  noteWrites(securities, stage.open.sequence, outcome);
  return outcome;
};

/** Every written object has a new version, even after a failure. */
const noteWrites = (securities: Securities, checkpoint: bigint, outcome: Outcome): void => {
  const { tokens, grants } = securities.model;
  for (const id of outcome.writtenIds) {
    const token = tokens.get(id);
    if (token !== undefined) tokens.set(id, { ...token, version: outcome.version, checkpoint });
    const grant = grants.get(id);
    if (grant !== undefined) grants.set(id, { ...grant, version: outcome.version, checkpoint });
  }
};

/** Funds an account without gas in a separate transaction. */
const fundSender = (stage: Stage, sender: string): void => {
  const { chain } = stage.world;
  const current = chain.objects.get(chain.gasCoins.get(sender) ?? "");
  if (current !== undefined && coinBalance(current.contents) >= LEAST) return;
  const coin = paySui(stage, account(stage, FAUCET), sender, GAS_COIN_BALANCE);
  chain.gasCoins.set(sender, coin);
};

/** Sends SUI split off the sender's coin; returns the new coin's id. */
export const paySui = (stage: Stage, from: string, to: string, amount: bigint): string => {
  const { chain } = stage.world;
  const draft = new Draft();
  const coin = draft.add({
    kind: "split",
    coin: { kind: "gas" },
    amounts: [draft.pure(u64(amount))],
  });
  draft.add({ kind: "transfer", objects: [coin], recipient: draft.pure(address(to)) });
  const paying = chain.gasCoins.get(from) ?? "";
  let created = "";
  execute(chain, stage.keyring, stage.open, { sender: from, draft }, (execution) => {
    const before = chain.objects.get(paying)?.contents;
    if (before === undefined) return;
    created = execution.newId();
    execution.write(paying, coinContents(paying, coinBalance(before) - amount));
    execution.create(created, {
      type: GAS_COIN_TYPE,
      contents: coinContents(created, amount),
      owner: { kind: "address", address: to },
      publicTransfer: true,
    });
  });
  return created;
};
