/**
 * A simulated issuer on a simulated Sui ledger: everything follows from a seed, every checkpoint is
 * written the way the network writes it, and a plain model says what is true after each.
 */
import { deserialize, serialize } from "node:v8";
import type { Encoding } from "../src/ledger/decode/checkpoint.ts";
import type { Committee } from "../src/ledger/proof/committee.ts";
import { base58 } from "../src/values/base58.ts";
import type { Remedy } from "../src/waiting/remedy.ts";
import { Keyring } from "./chain/keyring.ts";
import type { LiveObject } from "./chain/state.ts";
import { DEFAULT_INVESTORS, DEFAULT_NOISE, EDITION } from "./edition.ts";
import { advance, newWorld, OPENING_ENDS } from "./issuer/advance.ts";
import { FIRST_INVESTORS, type Staff, staffOf } from "./issuer/people.ts";
import type { Pace, World } from "./issuer/stage.ts";
import { type Submission, SubmissionQueue, type TransactionReceipt } from "./issuer/submissions.ts";
import type { CoinModel, DemoModel } from "./model.ts";
import type { Sign } from "./wire/certificate.ts";
import { encodeCheckpointData, type SealedCheckpoint } from "./wire/checkpoint.ts";
import { encodeProtobuf } from "./wire/protobuf.ts";
import { GAS_COIN_TYPE } from "./wire/type-tag.ts";

/** 1 January 2025, 00:00 UTC. */
const DEFAULT_GENESIS_MS = 1_735_689_600_000n;
/** Milliseconds between checkpoints: about what the network takes. */
const DEFAULT_INTERVAL_MS = 250n;
const DEFAULT_ACTIONS = 2;
const DEFAULT_EPOCH_LENGTH = 300;

/** What a demo ledger is made from. The same options give the same bytes. */
export type DemoOptions = {
  readonly seed: bigint | number | string;
  /** Investors the register grows to: 1 to 1,000,000, though never fewer than 8; 40 when not given. */
  readonly investors?: number | undefined;
  /** Share of unrelated transactions after the opening: 0 to 1; 0.3 when not given. */
  readonly noise?: number | undefined;
  /** Actions per checkpoint, unrelated ones too, on average: 0 to 1,000; 2 when not given. */
  readonly actionsPerCheckpoint?: number | undefined;
  /** Checkpoints of an epoch: 2 to 1,000,000; 300 when not given. */
  readonly epochLength?: number | undefined;
  /** Time of checkpoint 0, milliseconds since the Unix epoch. */
  readonly genesisTimeMs?: bigint | undefined;
  readonly intervalMs?: bigint | undefined;
  /** Time of each checkpoint, instead of the two above. */
  readonly timeOf?: ((sequence: bigint) => bigint) | undefined;
  /**
   * Whether the model keeps every event; true when not given. A ledger that runs on says no: its
   * memory then depends on what is alive, not on how long it has run.
   */
  readonly keepEvents?: boolean | undefined;
  /** What `save` returned for a ledger with the same options: it goes on from there. */
  readonly from?: Uint8Array | undefined;
};

/** One checkpoint, encoded when asked. */
export type DemoCheckpoint = {
  readonly sequence: bigint;
  /** Base58. */
  readonly digest: string;
  readonly timestampMs: bigint;
  /** How many transactions it holds. */
  readonly transactions: number;
  /**
   * Its bytes: `CheckpointData` in BCS, or `sui.rpc.v2.Checkpoint` in protobuf. Not cached, but for the
   * signature in them, which takes most of a millisecond.
   */
  readonly raw: (encoding: Encoding) => Uint8Array;
  /** Has it signed elsewhere before its bytes are asked for. */
  readonly signBy: (sign: Sign<Promise<Uint8Array>>) => Promise<void>;
};

/** A coin type, as `ledger.json` and asset files describe it. */
export type DemoCoin = Pick<
  CoinModel,
  "coinType" | "symbol" | "name" | "decimals" | "metadata" | "treasuryId"
>;

/** What identifies a demo ledger; known before its first checkpoint is made. */
export type DemoIdentity = {
  /** Base58 digest of checkpoint 0. */
  readonly chainId: string;
  /** Versions of the security-token package, original first. */
  readonly packages: readonly string[];
  /** Packages of others: the look-alike, then the exchange. */
  readonly foreignPackages: readonly string[];
  readonly coinTypes: readonly DemoCoin[];
  /** The validators of epoch 0: what a verifier of signatures begins with. */
  readonly committee: Committee;
};

/** A running demo ledger. */
export type DemoLedger = DemoIdentity & {
  /** Number of the checkpoint that `next` makes. */
  readonly nextSequence: bigint;
  /** The epoch of that checkpoint. */
  readonly epoch: bigint;
  /** What is true after the newest checkpoint. Changes with every `next`: copy it by `snapshot`. */
  readonly model: DemoModel;
  next(): DemoCheckpoint;
  /** A deep copy of the model. */
  snapshot(): DemoModel;
  /**
   * Puts a transaction into the next checkpoint (after the opening, see `OPENING_ENDS`). It resolves
   * when that checkpoint is made; a transaction that aborts is in it, too, and says so.
   * @throws RejectedTransactionError when the network would not take it at all
   */
  submit(transaction: Submission): Promise<TransactionReceipt>;
  /** The people who run a security token. */
  staff(coinType: string): Staff;
  /** The Ed25519 secret (32 bytes) of an account of this ledger. */
  secretKey(address: string): Uint8Array;
  /** A live object; undefined when none stands under this id. */
  object(id: string): LiveObject | undefined;
  /**
   * The coins of SUI that an account owns, in no particular order, but for the one that the
   * simulation spends on the account's behalf: its version changes with every simulated transaction.
   */
  gasCoinsOf(address: string): readonly LiveObject[];
  /** Everything needed to go on from here, as bytes for this version of Node. */
  save(): Uint8Array;
};

/** An option of the demo ledger is out of its bounds. Stop: the message names it and the bounds. */
export class DemoOptionError extends Error {
  override readonly name = "DemoOptionError";
  readonly remedy: Remedy = "stop";
}

/** A saved state belongs to another ledger, or another version of this one. Start without it. */
export class SavedStateMismatchError extends Error {
  override readonly name = "SavedStateMismatchError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("this saved state was made by a demo ledger of other options or another version");
  }
}

type Saved = { readonly key: string; readonly identity: DemoIdentity; readonly world: World };

/** Makes a demo ledger. @throws DemoOptionError, SavedStateMismatchError */
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
    process.versions.v8,
  ]);

  const saved = options.from === undefined ? undefined : load(options.from, key);
  const identity = saved?.identity ?? scout(seed, pace, timeOf);
  const world = saved?.world ?? newWorld(seed, keepEvents);
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
    staff: (coinType) => {
      const coin = identity.coinTypes.find((one) => one.coinType === coinType);
      if (coin === undefined) throw new DemoOptionError(`${coinType} is not a coin of this ledger`);
      return staffOf(keyring, coin.symbol);
    },
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
  signBy: (sign) => sealed.certificate.signBy(sign),
});

/** Runs the opening once for its names: packages and coin types get theirs when they are published. */
const scout = (seed: string, pace: Pace, timeOf: (sequence: bigint) => bigint): DemoIdentity => {
  const world = newWorld(seed, false);
  const keyring = new Keyring(seed, world.chain.accounts);
  const { chain, securities, foreignPackages } = world;
  const members = chain.committee.map(({ publicKey, stake }) => ({ publicKey, stake }));
  let chainId = "";
  for (let sequence = 0n; sequence <= OPENING_ENDS; sequence += 1n) {
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

/** The key covers the shape: only a ledger of this edition and these options writes it. */
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
  };
};
