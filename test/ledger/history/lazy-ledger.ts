import { executeChangeEpoch, openCheckpoint } from "../../../demo/chain/checkpoint.ts";
import { executeGenesis } from "../../../demo/chain/genesis.ts";
import { Keyring } from "../../../demo/chain/keyring.ts";
import { emptyChain } from "../../../demo/chain/state.ts";
import { advance, newWorld } from "../../../demo/issuer/advance.ts";
import type { Pace } from "../../../demo/issuer/stage.ts";
import { SubmissionQueue } from "../../../demo/issuer/submissions.ts";
import type { CoinModel, DemoModel } from "../../../demo/model.ts";
import { chance, diceFrom, roll } from "../../../demo/random.ts";
import {
  type ExecutedTransaction,
  type SealedCheckpoint,
  sealCheckpoint,
} from "../../../demo/wire/checkpoint.ts";
import { hash } from "../../../demo/wire/digest.ts";
import { NO_GAS } from "../../../demo/wire/effects.ts";
import { encodeProtobuf } from "../../../demo/wire/protobuf.ts";
import type { Committee } from "../../../src/ledger/proof/committee.ts";
import { base58 } from "../../../src/values/base58.ts";
import { committees } from "./lazy-epochs.ts";
import { createNoise } from "./lazy-noise.ts";
import { type ListedLedger, Listing } from "./listed-ledger.ts";

export type LazyOptions = {
  readonly seed: string;
  /** Checkpoints of the ledger. */
  readonly checkpoints: bigint;
  /** Those with transactions of the contract. */
  readonly relevant: number;
  readonly epochLength: bigint;
  /** Average size of a checkpoint, encoded. */
  readonly bytes: number;
  /** Share of calls through another package. */
  readonly foreign: number;
  readonly investors: number;
};

/** Mainnet's measures: four checkpoints a second, epochs of a day. */
export const MAINNET: LazyOptions = {
  seed: "mainnet",
  checkpoints: 300_000_000n,
  relevant: 10_000,
  epochLength: 345_600n,
  bytes: 170 * 1024,
  foreign: 0.3,
  investors: 400,
};

export type LazyLedger = ListedLedger & {
  readonly packages: readonly string[];
  readonly coins: readonly Pick<CoinModel, "coinType" | "symbol" | "decimals" | "treasuryId">[];
  /** Of epoch 0. */
  readonly committee: Committee;
  /** Checkpoints with transactions of the contract. */
  readonly relevant: readonly bigint[];
  /** The true state at the end; its checkpoints count the relevant ones alone. */
  readonly model: DemoModel;
};

const GENESIS_MS = 1_700_000_000_000n;
const INTERVAL_MS = 250n;
const PROTOCOL_VERSION = 100n;
/**
 * Checkpoints name the digest of the one before, except at the beginning of a window: a checkpoint
 * can be made without all those before it.
 */
const WINDOW = 8n;
/** Checkpoints whose transactions touch the contract follow one another so often. */
const ADJACENT = 0.1;

const timeOf = (sequence: bigint): bigint => GENESIS_MS + sequence * INTERVAL_MS;

/**
 * A ledger of any length: transactions of the contract at some of its checkpoints, made at once;
 * every checkpoint else made when asked for, with unrelated transactions.
 */
export const lazyLedger = (options: LazyOptions): LazyLedger => {
  const { seed, checkpoints, epochLength } = options;
  const epochOf = (sequence: bigint): bigint => sequence / epochLength;
  const endsEpoch = (sequence: bigint): boolean => sequence % epochLength === epochLength - 1n;
  const validators = committees(seed, Number(epochOf(checkpoints)) + 2);
  const membersOf = (epoch: bigint) => validators[Number(epoch)] ?? [];
  const noise = createNoise(seed, GENESIS_MS);
  const contract = new Map<bigint, readonly ExecutedTransaction[]>();
  const listing = new Listing();
  const sealedBefore = new Map<bigint, SealedCheckpoint>();

  const transactionsOf = (sequence: bigint): readonly ExecutedTransaction[] => {
    if (sequence === 0n) return contract.get(0n) ?? [];
    // From half to one and a half of the average.
    const share = Number((sequence * 40_503n) % 1_000n) / 1_000 + 0.5;
    const last = endsEpoch(sequence) ? [changeEpoch(epochOf(sequence), timeOf(sequence))] : [];
    return [
      ...(contract.get(sequence) ?? []),
      ...noise.of(sequence, options.bytes * share),
      ...last,
    ];
  };

  const seal = (
    sequence: bigint,
    transactions: readonly ExecutedTransaction[],
    previousDigest: Uint8Array | null,
  ): SealedCheckpoint => {
    const epoch = epochOf(sequence);
    return sealCheckpoint(
      {
        epoch,
        sequence,
        networkTransactions: sequence * 60n + BigInt(transactions.length),
        previousDigest,
        epochGas: NO_GAS,
        timestampMs: timeOf(sequence),
        endOfEpoch: endsEpoch(sequence)
          ? { nextCommittee: membersOf(epoch + 1n), nextProtocolVersion: PROTOCOL_VERSION }
          : null,
      },
      membersOf(epoch),
      transactions,
    );
  };

  const sealed = (sequence: bigint): SealedCheckpoint => {
    const known = sealedBefore.get(sequence);
    if (known !== undefined) return known;
    const made = seal(sequence, transactionsOf(sequence), previousOf(sequence));
    sealedBefore.set(sequence, made);
    if (sealedBefore.size > 4 * Number(WINDOW)) {
      const [oldest = -1n] = sealedBefore.keys();
      sealedBefore.delete(oldest);
    }
    return made;
  };

  const previousOf = (sequence: bigint): Uint8Array | null => {
    if (sequence === 0n) return null;
    if (sequence % WINDOW === 0n) return hash(Buffer.from(`${seed}/before/${sequence}`));
    return sealed(sequence - 1n).digest;
  };

  const world = newWorld(seed, false);
  const keyring = new Keyring(seed, world.chain.accounts);
  const pace: Pace = {
    investors: options.investors,
    noise: 0,
    actionsPerCheckpoint: 2,
    epochLength: 1_000_000_000_000n,
    ...(options.foreign > 0 && { foreign: options.foreign }),
  };
  const dice = diceFrom(`${seed}/places`);
  const spacing = checkpoints / BigInt(options.relevant + 1);
  let sequence = 0n;
  while (contract.size < options.relevant) {
    world.chain.epoch = epochOf(sequence);
    const time = timeOf(sequence);
    const { transactions } = advance(world, pace, keyring, time, new SubmissionQueue());
    // One with nothing but the system's is as good as any other.
    if (sequence > 0n && transactions.length <= 1) continue;
    contract.set(sequence, transactions);
    listing.add(sequence, encodeProtobuf(seal(sequence, transactions, null)));
    const place = BigInt(contract.size) * spacing + BigInt(roll(dice, Number(spacing / 2n) + 1));
    sequence = chance(dice, ADJACENT) || place <= sequence ? sequence + 1n : place;
    while (endsEpoch(sequence) || sequence % WINDOW === 0n) sequence += 1n;
  }

  const { securities } = world;
  return {
    packages: [...securities.packages],
    coins: [...securities.model.coins.values()],
    committee: {
      epoch: 0n,
      members: membersOf(0n).map(({ publicKey, stake }) => ({ publicKey, stake })),
    },
    relevant: [...contract.keys()],
    model: securities.model,
    chainId: base58(sealed(0n).digest),
    newest: () => checkpoints - 1n,
    checkpoint: (one) => encodeProtobuf(sealed(one), noise.encoded),
    listed: (key) => listing.listed(key),
    placeOf: (digest) => listing.placeOf(digest),
    headOf: (id) => listing.headOf(id),
    epochEnd: (epoch) => {
      const end = (epoch + 1n) * epochLength - 1n;
      return end < checkpoints ? end : undefined;
    },
    metadataOf: (coinType) => listing.metadataOf(coinType),
  };
};

/** The transaction that ends an epoch, in a network without a past. */
const changeEpoch = (epoch: bigint, timestampMs: bigint): ExecutedTransaction => {
  const chain = emptyChain("epochs");
  const faucet = new Keyring("epochs", chain.accounts).account("faucet");
  const genesis = openCheckpoint(chain, GENESIS_MS);
  executeGenesis(chain, genesis, faucet);
  chain.epoch = epoch;
  const open = openCheckpoint(chain, timestampMs);
  executeChangeEpoch(chain, open);
  const [transaction] = open.transactions;
  if (transaction === undefined) throw new RangeError("an epoch ends with a transaction");
  return transaction;
};
