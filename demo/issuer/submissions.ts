/** Transactions from outside the simulation, such as a transfer agent's. */

import { base58 } from "../../src/values/base58.ts";
import type { Remedy } from "../../src/waiting/remedy.ts";
import { SimulationError } from "../chain/execution.ts";
import { type Call, draftOf, runCalls } from "../contract/calls.ts";
import { currentGasCoin, type SignedTransaction } from "../signed-transaction.ts";
import { account, FAUCET, GAS_COIN_BALANCE, paySui, perform, type Stage } from "./stage.ts";

/** A transaction to execute: one command per call. */
export type Submission = {
  /** An account of this ledger, such as a registrar, that signs. */
  readonly sender: string;
  readonly calls: readonly Call[];
  /** Bytes signed outside, to be used as they are. */
  readonly signed?: SignedTransaction | undefined;
  /** Number of gas coins to give the sender; then nothing is called. */
  readonly gasCoins?: number | undefined;
};

export type TransactionReceipt = {
  /** Base58. */
  readonly digest: string;
  readonly checkpoint: bigint;
  /** Index inside the checkpoint, from 0. */
  readonly transactionIndex: number;
  /** Null when it succeeded. */
  readonly error: string | null;
};

/** The network would refuse this transaction; it is in no checkpoint. Stop. */
export class RejectedTransactionError extends Error {
  override readonly name = "RejectedTransactionError";
  readonly remedy: Remedy = "stop";
}

type QueuedSubmission = {
  readonly submission: Submission;
  readonly resolve: (receipt: TransactionReceipt) => void;
  readonly reject: (error: Error) => void;
};

/** Submitted transactions for the next checkpoint, in order of arrival. */
export class SubmissionQueue {
  readonly #waiting: QueuedSubmission[] = [];
  readonly #steps: ((stage: Stage) => void)[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length + this.#steps.length === 0;
  }

  /** Resolves when executed. */
  add(submission: Submission): Promise<TransactionReceipt> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ submission, resolve, reject });
    });
  }

  /** Adds what no submission can say. */
  act(step: (stage: Stage) => void): void {
    this.#steps.push(step);
  }

  executeAll(stage: Stage): void {
    for (const step of this.#steps.splice(0)) step(stage);
    for (const { submission, resolve, reject } of this.#waiting.splice(0)) {
      try {
        resolve(executeOne(stage, submission));
      } catch (error) {
        if (!(error instanceof RejectedTransactionError)) throw error;
        reject(error);
      }
    }
  }
}

const executeOne = (stage: Stage, submission: Submission): TransactionReceipt => {
  const { sender, calls, signed, gasCoins = 0 } = submission;
  const { securities, chain } = stage.world;
  if (gasCoins > 0) return giveGasCoins(stage, sender, gasCoins);
  if (signed === undefined && !stage.keyring.knows(sender)) {
    throw new RejectedTransactionError(`${sender} is not an account of the demo ledger`);
  }
  const draft = draftChecked(stage, calls);
  for (const input of draft.inputs) {
    if (input.kind !== "pure" && !chain.objects.has(input.id)) {
      throw new RejectedTransactionError(`there is no object ${input.id}`);
    }
  }
  const coin = signed === undefined ? undefined : gasOf(stage, sender, signed);
  const outcome = perform(
    stage,
    sender,
    draft,
    (execution) => runCalls(execution, calls, securities),
    signed === undefined || coin === undefined
      ? undefined
      : {
          data: Buffer.from(signed.data, "base64"),
          signature: Buffer.from(signed.signature, "base64"),
          gasCoin: coin,
        },
  );
  return {
    digest: base58(outcome.digest),
    checkpoint: stage.open.sequence,
    transactionIndex: outcome.index,
    error: outcome.failure?.message ?? null,
  };
};

/** The coin that pays; must be at its current version. */
const gasOf = (stage: Stage, sender: string, signed: SignedTransaction): string => {
  const coin = currentGasCoin(signed, sender, (id) => stage.world.chain.objects.get(id));
  if ("wrong" in coin) throw new RejectedTransactionError(coin.wrong);
  return coin.id;
};

const giveGasCoins = (stage: Stage, to: string, count: number): TransactionReceipt => {
  for (let n = 0; n < count; n += 1) paySui(stage, account(stage, FAUCET), to, GAS_COIN_BALANCE);
  const { transactions, sequence } = stage.open;
  const digest = base58(transactions.at(-1)?.digest ?? new Uint8Array(32));
  const transactionIndex = transactions.length - 1;
  return { digest, checkpoint: sequence, transactionIndex, error: null };
};

const draftChecked = (stage: Stage, calls: readonly Call[]) => {
  try {
    return draftOf(calls, stage.world.securities);
  } catch (error) {
    if (error instanceof SimulationError) {
      throw new RejectedTransactionError(error.message, { cause: error });
    }
    throw error;
  }
};
