/**
 * A simulated issuer on a simulated Sui ledger: derived from a seed, checkpoints in the network's
 * format, and a plain model of the true state after each.
 */
import { deserialize, serialize } from "node:v8";
import type { Encoding } from "../src/ledger/decode/checkpoint.ts";
import type { Committee } from "../src/ledger/proof/committee.ts";
import { base58 } from "../src/values/base58.ts";
import type { Remedy } from "../src/waiting/remedy.ts";
import { Keyring } from "./chain/keyring.ts";
import type { LiveObject } from "./chain/state.ts";
import { companyLabels, type DemoLabel } from "./company/labels.ts";
import { DEFAULT_INVESTORS, DEFAULT_NOISE, EDITION } from "./edition.ts";
import { advance, newWorld, openingEnds } from "./issuer/advance.ts";
import { FIRST_INVESTORS, type Staff, staffOf } from "./issuer/people.ts";
import type { Pace, Stage, World } from "./issuer/stage.ts";
import { type Submission, SubmissionQueue, type TransactionReceipt } from "./issuer/submissions.ts";
import type { CoinModel, DemoModel } from "./model.ts";
import { encodeCheckpointData, type SealedCheckpoint } from "./wire/checkpoint.ts";
import { encodeProtobuf } from "./wire/protobuf.ts";
import { GAS_COIN_TYPE } from "./wire/type-tag.ts";

/** 1 January 2025, 00:00 UTC. */
const DEFAULT_GENESIS_MS = 1_735_689_600_000n;
/** Milliseconds between checkpoints, about the network's pace. */
const DEFAULT_INTERVAL_MS = 250n;
const DEFAULT_ACTIONS = 2;
const DEFAULT_EPOCH_LENGTH = 300;

/** The same options give the same bytes. */
export type DemoOptions = {
  readonly seed: bigint | number | string;
  /** Investors that the register grows to: 1 to 1,000,000, at least 8 in effect; 40 by default. */
  readonly investors?: number | undefined;
  /** Share of unrelated transactions after the opening: 0 to 1; 0.3 by default. */
  readonly noise?: number | undefined;
  /** Average actions per checkpoint, unrelated ones included: 0 to 1,000; 2 by default. */
  readonly actionsPerCheckpoint?: number | undefined;
  /**
   * Share of calls of the contract that another package makes, 0 to 1; 0 by default. When above 0,
   * treasuries too are created by the coins' packages.
   */
  readonly foreign?: number | undefined;
  /**
   * First checkpoint whose summary commits to the objects that it wrote, as the network's do since
   * protocol 125; none by default.
   */
  readonly commitsFrom?: bigint | undefined;
  /** Checkpoints of an epoch: 2 to 1,000,000; 300 by default. */
  readonly epochLength?: number | undefined;
  /**
   * Plays the two years of a company that was founded then, Unix ms, and goes on afterwards; without
   * it four issuers act at random.
   */
  readonly foundedMs?: bigint | undefined;
  /** Time of checkpoint 0, Unix ms. */
  readonly genesisTimeMs?: bigint | undefined;
  readonly intervalMs?: bigint | undefined;
  /** Time of each checkpoint, instead of the two above. */
  readonly timeOf?: ((sequence: bigint) => bigint) | undefined;
  /**
   * Whether the model keeps events, true by default. Without, memory depends only on what is alive.
   */
  readonly keepEvents?: boolean | undefined;
  /** Result of `save` with the same options, to continue from. */
  readonly from?: Uint8Array | undefined;
};

/** One checkpoint, encoded on demand. */
export type DemoCheckpoint = {
  readonly sequence: bigint;
  /** Base58. */
  readonly digest: string;
  readonly timestampMs: bigint;
  readonly transactions: number;
  /**
   * Encodes `CheckpointData` in BCS, or `sui.rpc.v2.Checkpoint` in protobuf. Only the signature is
   * cached, which takes most of a millisecond.
   */
  readonly raw: (encoding: Encoding) => Uint8Array;
};

/** A coin type in `ledger.json` and assets files. */
type DemoCoin = Pick<
  CoinModel,
  "coinType" | "symbol" | "name" | "decimals" | "metadata" | "treasuryId"
>;

/** Identity of a demo ledger, known before its first checkpoint. */
export type DemoIdentity = {
  /** Base58 digest of checkpoint 0. */
  readonly chainId: string;
  /** Versions of the security-token package, original first. */
  readonly packages: readonly string[];
  /** Other packages: the look-alike, then the exchange. */
  readonly foreignPackages: readonly string[];
  readonly coinTypes: readonly DemoCoin[];
  /** Validators of epoch 0, to verify signatures with. */
  readonly committee: Committee;
};

export type DemoLedger = DemoIdentity & {
  /** Number of the checkpoint that `next` makes. */
  readonly nextSequence: bigint;
  /** Its epoch. */
  readonly epoch: bigint;
  /** The true state after the newest checkpoint. Mutable: copy it with `snapshot`. */
  readonly model: DemoModel;
  next(): DemoCheckpoint;
  snapshot(): DemoModel;
  /**
   * Submits a transaction for the next checkpoint after the opening (`openingEnds`) and resolves
   * when it is made, also after an abort.
   * @throws RejectedTransactionError when the network would refuse it
   */
  submit(transaction: Submission): Promise<TransactionReceipt>;
  /** Performs a step in the next checkpoint after the opening. */
  act(step: (stage: Stage) => void): void;
  staff(coinType: string): Staff;
  /** Names of the company's people and accounts; empty without a company. */
  labels(): readonly DemoLabel[];
  /** Ed25519 secret (32 bytes) of an account. */
  secretKey(address: string): Uint8Array;
  /** A live object; undefined when there is none. */
  object(id: string): LiveObject | undefined;
  /** SUI coins of an account, unordered, without the one that the simulation spends. */
  gasCoinsOf(address: string): readonly LiveObject[];
  /** State to continue from, as bytes for this version of Node. */
  save(): Uint8Array;
};

/** An option is out of bounds. Stop; the message names the bounds. */
export class DemoOptionError extends Error {
  override readonly name = "DemoOptionError";
  readonly remedy: Remedy = "stop";
}

/** The saved state is of another ledger or version. Start without it. */
export class SavedStateMismatchError extends Error {
  override readonly name = "SavedStateMismatchError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("this saved state was made by a demo ledger of other options or another version");
  }
}

type Saved = { readonly key: string; readonly identity: DemoIdentity; readonly world: World };

/** @throws DemoOptionError, SavedStateMismatchError */
export const createDemoLedger = (options: DemoOptions): DemoLedger => {
  const pace = paceOf(options);
  const genesis = options.genesisTimeMs ?? DEFAULT_GENESIS_MS;
  const interval = options.intervalMs ?? DEFAULT_INTERVAL_MS;
  const timeOf = options.timeOf ?? ((sequence: bigint) => genesis + sequence * interval);
  const seed = `holderbook demo ledger ${EDITION}/${options.seed}`;
  const keepEvents = options.keepEvents ?? true;
  const key = JSON.stringify([
    seed,
    Object.values(pace).map(String),
    keepEvents,
    String(timeOf(0n)),
    ...(options.foundedMs === undefined ? [] : [String(options.foundedMs)]),
    process.versions.v8,
  ]);

  const saved = options.from === undefined ? undefined : load(options.from, key);
  const identity =
    saved?.identity ?? scout(newWorld(seed, false, options.foundedMs), pace, seed, timeOf);
  const world = saved?.world ?? newWorld(seed, keepEvents, options.foundedMs);
  const keyring = new Keyring(seed, world.chain.accounts);
  const submissions = new SubmissionQueue();

  return {
    ...identity,
    get nextSequence() {
      return world.chain.nextSequence;
    },
    get epoch() {
      return world.chain.epoch;
    },
    model: world.securities.model,
    next: () => {
      const time = timeOf(world.chain.nextSequence);
      return asDemoCheckpoint(advance(world, pace, keyring, time, submissions));
    },
    snapshot: () => structuredClone(world.securities.model),
    submit: (transaction) => submissions.add(transaction),
    act: (step) => submissions.act(step),
    staff: (coinType) => {
      const coin = identity.coinTypes.find((one) => one.coinType === coinType);
      if (coin === undefined) throw new DemoOptionError(`${coinType} is not a coin of this ledger`);
      return staffOf(keyring, coin.symbol);
    },
    labels: () =>
      options.foundedMs === undefined ? [] : companyLabels(identity.coinTypes, keyring),
    secretKey: (address) => keyring.secretKey(address),
    object: (id) => world.chain.objects.get(id),
    gasCoinsOf: (address) =>
      [...world.chain.objects.values()].filter(
        ({ id, type, owner }) =>
          type === GAS_COIN_TYPE &&
          owner.kind === "address" &&
          owner.address === address &&
          id !== world.chain.gasCoins.get(address),
      ),
    save: () => serialize({ key, identity, world } satisfies Saved),
  };
};

const asDemoCheckpoint = (sealed: SealedCheckpoint): DemoCheckpoint => ({
  sequence: sealed.sequence,
  digest: base58(sealed.digest),
  timestampMs: sealed.timestampMs,
  transactions: sealed.transactions.length,
  raw: (encoding) => (encoding === "bcs" ? encodeCheckpointData(sealed) : encodeProtobuf(sealed)),
});

/** Runs the opening once, as packages and coin types get their ids when published. */
const scout = (
  world: World,
  pace: Pace,
  seed: string,
  timeOf: (sequence: bigint) => bigint,
): DemoIdentity => {
  const keyring = new Keyring(seed, world.chain.accounts);
  const { chain, securities, foreignPackages } = world;
  const members = chain.committee.map(({ publicKey, stake }) => ({ publicKey, stake }));
  let chainId = "";
  const last = openingEnds(world.company !== undefined);
  for (let sequence = 0n; sequence <= last; sequence += 1n) {
    const sealed = advance(world, pace, keyring, timeOf(sequence), new SubmissionQueue());
    if (sequence === 0n) chainId = base58(sealed.digest);
    if (securities.packages.length === 2) break;
  }
  return {
    chainId,
    packages: [...securities.packages],
    foreignPackages: [...foreignPackages],
    coinTypes: [...securities.model.coins.values()].map(
      ({ coinType, symbol, name, decimals, metadata, treasuryId }) => ({
        coinType,
        symbol,
        name,
        decimals,
        metadata,
        treasuryId,
      }),
    ),
    committee: { epoch: 0n, members },
  };
};

const load = (bytes: Uint8Array, key: string): Saved => {
  const value: unknown = readable(bytes);
  if (!isSaved(value) || value.key !== key) throw new SavedStateMismatchError();
  return value;
};

const readable = (bytes: Uint8Array): unknown => {
  try {
    return deserialize(bytes);
  } catch {
    throw new SavedStateMismatchError();
  }
};

/** The key covers the shape. */
const isSaved = (value: unknown): value is Saved =>
  typeof value === "object" && value !== null && "key" in value && "world" in value;

const paceOf = (options: DemoOptions): Pace => {
  const bounded = (name: string, value: number, least: number, most: number): number => {
    if (value >= least && value <= most) return value;
    throw new DemoOptionError(`${name} must be from ${least} to ${most}, not ${value}`);
  };
  const whole = (name: string, value: number, least: number, most: number): number => {
    if (Number.isInteger(value)) return bounded(name, value, least, most);
    throw new DemoOptionError(`${name} must be a whole number, not ${value}`);
  };
  const investors = whole("investors", options.investors ?? DEFAULT_INVESTORS, 1, 1_000_000);
  const epochLength = options.epochLength ?? DEFAULT_EPOCH_LENGTH;
  return {
    investors: Math.max(FIRST_INVESTORS, investors),
    noise: bounded("noise", options.noise ?? DEFAULT_NOISE, 0, 1),
    actionsPerCheckpoint: bounded(
      "actionsPerCheckpoint",
      options.actionsPerCheckpoint ?? DEFAULT_ACTIONS,
      0,
      1_000,
    ),
    epochLength: BigInt(whole("epochLength", epochLength, 2, 1_000_000)),
    ...(options.foreign && { foreign: bounded("foreign", options.foreign, 0, 1) }),
    ...(options.commitsFrom !== undefined && { commitsFrom: options.commitsFrom }),
  };
};
