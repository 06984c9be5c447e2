/**
 * Where the simulated people act: the ledger's whole state, the keys, and the checkpoint that is open.
 */
import { coinBalance, coinContents } from "../chain/coins.ts";
import { Draft } from "../chain/draft.ts";
import { execute, type Outcome, type Signed } from "../chain/execute.ts";
import type { Execution } from "../chain/execution.ts";
import type { Keyring } from "../chain/keyring.ts";
import type { Chain, OpenCheckpoint } from "../chain/state.ts";
import { type Call, draftOf, runCalls } from "../contract/calls.ts";
import { address, u64 } from "../contract/layouts.ts";
import type { Securities } from "../contract/securities.ts";
import type { Dice } from "../random.ts";
import type { Roster } from "../roster.ts";
import { GAS_COIN_TYPE } from "../wire/type-tag.ts";

/** All that a simulation remembers between two checkpoints. Plain data: it can be put away. */
export type World = {
  readonly chain: Chain;
  readonly securities: Securities;
  readonly dice: Dice;
  /** Packages of others: the look-alike and the exchange, once published. */
  readonly foreignPackages: string[];
  /** Ids of the look-alike objects that stand. */
  readonly imitations: string[];
  /** The object that permits upgrading the security-token package. */
  upgradeCap: string;
  /** Ids of unrelated objects that are changed now and then. */
  readonly strangers: Roster;
};

/** How busy the simulation is. */
export type Pace = {
  /** Investors the register grows to. */
  readonly investors: number;
  /** Share of the actions that has nothing to do with security tokens, 0 to 1. */
  readonly noise: number;
  /** Actions per checkpoint after the opening, on average; most are one transaction. */
  readonly actionsPerCheckpoint: number;
  /** Checkpoints of an epoch. */
  readonly epochLength: bigint;
};

/** The open checkpoint and everything needed to act in it. */
export type Stage = {
  readonly world: World;
  readonly pace: Pace;
  readonly keyring: Keyring;
  readonly open: OpenCheckpoint;
};

/** Balance of a gas coin that an account is given, and the least it should have: in MIST. */
export const GAS_COIN_BALANCE = 1_000_000_000_000n;
const LEAST = 1_000_000_000n;

/** Label of the account that every other one is funded from. */
export const FAUCET = "faucet";

/** The account with this label. */
export const account = (stage: Stage, label: string): string => stage.keyring.account(label);

/** One transaction of the security-token package; failed when a call aborts. */
export const transact = (stage: Stage, sender: string, calls: readonly Call[]): Outcome => {
  const { securities } = stage.world;
  return perform(stage, sender, draftOf(calls, securities), (execution) =>
    runCalls(execution, calls, securities),
  );
};

/** One transaction of any kind; `signed` when it comes from outside, with money of its own. */
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

/** Every object a transaction wrote has a new version, whether it succeeded or failed. */
const noteWrites = (securities: Securities, checkpoint: bigint, outcome: Outcome): void => {
  const { tokens, grants } = securities.model;
  for (const id of outcome.writtenIds) {
    const token = tokens.get(id);
    if (token !== undefined) tokens.set(id, { ...token, version: outcome.version, checkpoint });
    const grant = grants.get(id);
    if (grant !== undefined) grants.set(id, { ...grant, version: outcome.version, checkpoint });
  }
};

/** An account without money gets some first, by a transaction of its own. */
const fundSender = (stage: Stage, sender: string): void => {
  const { chain } = stage.world;
  const current = chain.objects.get(chain.gasCoins.get(sender) ?? "");
  if (current !== undefined && coinBalance(current.contents) >= LEAST) return;
  const coin = paySui(stage, account(stage, FAUCET), sender, GAS_COIN_BALANCE);
  chain.gasCoins.set(sender, coin);
};

/** Sends SUI: splits a coin off the sender's own. Its id. */
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
