import { digestOf } from "../../src/ledger/decode/digest.ts";
import type { StoredObject } from "../wire/checkpoint.ts";
import {
  type ExecutionStatus,
  encodeEffects,
  encodeEvents,
  type GasCost,
  NO_GAS,
} from "../wire/effects.ts";
import { encodePackageObject, packageStorageFee, storageFee } from "../wire/object.ts";
import {
  encodeTransactionData,
  type Gas,
  SYSTEM_GAS,
  SYSTEM_SENDER,
  type TransactionKind,
} from "../wire/transaction.ts";
import { byId, inOutputOrder, newVersions, objectChanges } from "./changes.ts";
import type { Draft } from "./draft.ts";
import { Execution, MoveAbort, OutOfGas, SimulationError } from "./execution.ts";
import { FRAMEWORK } from "./ids.ts";
import type { Keyring } from "./keyring.ts";
import { type Chain, initialSharedVersion, type LiveObject, type OpenCheckpoint } from "./state.ts";

export type Outcome = {
  readonly digest: Uint8Array;
  /** Index inside its checkpoint. */
  readonly index: number;
  /** Null when it succeeded. */
  readonly failure: MoveAbort | OutOfGas | null;
  readonly execution: Execution;
  /** Version of everything it wrote. */
  readonly version: bigint;
  /** Objects written, gas coin included. */
  readonly writtenIds: readonly string[];
};

/** A transaction signed outside the simulation. */
export type Signed = {
  readonly data: Uint8Array;
  /** Flag, signature and public key. */
  readonly signature: Uint8Array;
  /** Id of a coin of the sender. */
  readonly gasCoin: string;
};

/** Gas price and budget of every transaction. */
export const GAS_PRICE = 1_000n;
const GAS_BUDGET = 50_000_000n;
/** The network's lowest bucket of computation. */
const COMPUTATION_UNITS = 1_000n;
/** Refunded part of a storage fee, in percent. */
const REBATE_PERCENT = 99n;

/**
 * Executes a programmable transaction and appends it to the open checkpoint.
 * @param run its code; a `MoveAbort` or `OutOfGas` fails the transaction as on the network: gas is
 * paid and every mutable input gets a new version, no more
 */
export const execute = (
  chain: Chain,
  keyring: Keyring,
  open: OpenCheckpoint,
  request: {
    readonly sender: string;
    readonly draft: Draft;
    readonly signed?: Signed | undefined;
  },
  run: (execution: Execution) => void,
): Outcome => {
  const { sender, draft, signed } = request;
  const coin = chain.objects.get(signed?.gasCoin ?? chain.gasCoins.get(sender) ?? "");
  if (coin === undefined) throw new SimulationError(`${sender} has no coin to pay gas with`);

  const written = new Map<string, LiveObject>([[coin.id, coin]]);
  const read = new Map<string, LiveObject>();
  const inputs = draft.inputs.map((input) => {
    if (input.kind === "pure") return input;
    const object = existing(chain, input.id);
    if (input.kind === "shared") {
      (input.mutable ? written : read).set(object.id, object);
      return {
        ...input,
        initialSharedVersion: initialSharedVersion(object.owner),
      };
    }
    written.set(object.id, object);
    return { kind: input.kind, ref: object };
  });
  const gas: Gas = { payment: coin, owner: sender, price: GAS_PRICE, budget: GAS_BUDGET };
  const data =
    signed?.data ??
    encodeTransactionData({ kind: "programmable", inputs, commands: draft.commands }, sender, gas);
  const packages = draft.commands.map((command) =>
    command.kind === "call" || command.kind === "upgrade" ? command.package : null,
  );
  return settle(chain, open, {
    sender,
    data,
    signature: signed?.signature ?? keyring.sign(sender, data),
    written,
    read,
    gasCoin: coin,
    packages,
    run,
  });
};

/** Executes a system transaction: no gas, a signature of zeros. */
export const executeSystem = (
  chain: Chain,
  open: OpenCheckpoint,
  kind: TransactionKind,
  written: readonly string[],
  run: (execution: Execution) => void,
): Outcome =>
  settle(chain, open, {
    sender: SYSTEM_SENDER,
    data: encodeTransactionData(kind, SYSTEM_SENDER, SYSTEM_GAS),
    signature: new Uint8Array(97),
    written: new Map(written.map((id) => [id, existing(chain, id)])),
    read: new Map(),
    gasCoin: null,
    packages: [],
    run,
  });

const existing = (chain: Chain, id: string): LiveObject => {
  const object = chain.objects.get(id);
  if (object === undefined) throw new SimulationError(`${id} is an input but does not exist`);
  return object;
};

type Unsettled = {
  readonly sender: string;
  readonly data: Uint8Array;
  readonly signature: Uint8Array;
  /** Inputs that get a new version, even on failure. */
  readonly written: Map<string, LiveObject>;
  readonly read: ReadonlyMap<string, LiveObject>;
  readonly gasCoin: LiveObject | null;
  /** Package called by each command; null for none. */
  readonly packages: readonly (string | null)[];
  readonly run: (execution: Execution) => void;
};

const settle = (chain: Chain, open: OpenCheckpoint, transaction: Unsettled): Outcome => {
  const digest = digestOf("TransactionData", transaction.data);
  const execution = new Execution(chain, open, { digest, sender: transaction.sender });
  const failure = runCode(execution, transaction.run);

  // Objects reached through inputs (dynamic fields) count, too.
  const before = new Map(transaction.written);
  for (const id of [...execution.written.keys(), ...execution.gone]) {
    const object = chain.objects.get(id);
    if (object !== undefined) before.set(id, object);
  }
  let lamport = 0n;
  for (const objects of [before, transaction.read]) {
    for (const { version } of objects.values()) if (version > lamport) lamport = version;
  }
  lamport += 1n;

  const gas = transaction.gasCoin === null ? NO_GAS : gasCost(execution, before);
  const after = newVersions(execution, before, {
    digest,
    lamport,
    payment: transaction.gasCoin === null ? null : { coin: transaction.gasCoin.id, gas },
  });
  const packages = publishedPackages(chain, execution, digest);
  const changes = objectChanges(execution, before, after, packages);
  const reads = byId([...transaction.read.values()].filter(({ id }) => !before.has(id)));
  const events = execution.events.length === 0 ? null : encodeEvents(execution.events);
  const eventsDigest = events === null ? null : digestOf("TransactionEvents", events);
  const coinId = transaction.gasCoin?.id;
  const effects = encodeEffects({
    status: statusOf(chain, transaction, execution, failure),
    epoch: chain.epoch,
    gas,
    transactionDigest: digest,
    gasObjectIndex: coinId === undefined ? null : changes.findIndex(({ id }) => id === coinId),
    eventsDigest,
    dependencies: dependencies(chain, transaction, [...before.values(), ...reads]),
    lamportVersion: lamport,
    changes,
    reads,
  });

  for (const id of execution.gone) chain.objects.delete(id);
  for (const object of after) chain.objects.set(object.id, object);
  chain.networkTransactions += 1n;
  chain.epochGas = sum(chain.epochGas, gas);
  const index = open.transactions.length;
  open.transactions.push({
    digest,
    data: transaction.data,
    signatures: [transaction.signature],
    effects,
    effectsDigest: digestOf("TransactionEffects", effects),
    events,
    eventsDigest,
    inputs: byId([...before.values()]),
    outputs: inOutputOrder(execution, before, after, packages),
    reads,
  });
  return {
    digest,
    index,
    failure,
    execution,
    version: lamport,
    writtenIds: after.map(({ id }) => id),
  };
};

const runCode = (
  execution: Execution,
  run: (execution: Execution) => void,
): MoveAbort | OutOfGas | null => {
  try {
    run(execution);
    execution.succeed();
    return null;
  } catch (error) {
    if (!(error instanceof MoveAbort || error instanceof OutOfGas)) throw error;
    execution.fail();
    return error;
  }
};

const sum = (a: GasCost, b: GasCost): GasCost => ({
  computation: a.computation + b.computation,
  storage: a.storage + b.storage,
  rebate: a.rebate + b.rebate,
  nonRefundable: a.nonRefundable + b.nonRefundable,
});

/** Charges storage of everything written and refunds that of inputs. */
const gasCost = (execution: Execution, before: ReadonlyMap<string, LiveObject>): GasCost => {
  let storage = 0n;
  let refunded = 0n;
  for (const object of before.values()) {
    refunded += object.storageRebate;
    if (!execution.written.has(object.id) && !execution.gone.has(object.id)) {
      storage += storageFee(object.type, object.contents.length);
    }
  }
  for (const { type, contents } of execution.written.values()) {
    storage += storageFee(type, contents.length);
  }
  for (const { modules } of execution.published) storage += packageStorageFee(modules);
  const rebate = (refunded * REBATE_PERCENT) / 100n;
  return {
    computation: COMPUTATION_UNITS * GAS_PRICE,
    storage,
    rebate,
    nonRefundable: refunded - rebate,
  };
};

const publishedPackages = (
  chain: Chain,
  execution: Execution,
  digest: Uint8Array,
): readonly StoredObject[] =>
  execution.published.map((published) => {
    const bytes = encodePackageObject({
      ...published,
      previousTransaction: digest,
      storageRebate: packageStorageFee(published.modules),
    });
    chain.packages.set(published.id, {
      id: published.id,
      originalId: published.originalId,
      version: published.version,
      typeOrigins: published.typeOrigins,
      publishedBy: digest,
    });
    return {
      id: published.id,
      version: published.version,
      digest: digestOf("Object", bytes),
      bytes,
    };
  });

/** Transactions that wrote what this one used, each once, ascending. */
const dependencies = (
  chain: Chain,
  transaction: Unsettled,
  used: readonly LiveObject[],
): readonly Uint8Array[] => {
  const digests = new Map<string, Uint8Array>();
  const add = (digest: Uint8Array) =>
    digests.set(Buffer.from(digest.buffer, digest.byteOffset, 32).toString("latin1"), digest);
  for (const { previousTransaction } of used) add(previousTransaction);
  for (const id of transaction.packages) {
    const found = id === null ? undefined : chain.packages.get(id);
    if (found !== undefined) add(found.publishedBy);
  }
  return [...digests.values()].sort(Buffer.compare);
};

const statusOf = (
  chain: Chain,
  transaction: Unsettled,
  execution: Execution,
  failure: MoveAbort | OutOfGas | null,
): ExecutionStatus => {
  if (failure === null) return { kind: "success" };
  if (failure instanceof OutOfGas) return { kind: "insufficient-gas" };
  const called = transaction.packages[execution.command] ?? FRAMEWORK;
  return {
    kind: "abort",
    location: { ...failure.location, package: chain.packages.get(called)?.originalId ?? called },
    code: failure.code,
    command: BigInt(execution.command),
  };
};
