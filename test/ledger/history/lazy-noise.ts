import { Keyring } from "../../../demo/chain/keyring.ts";
import { advance, newWorld, OPENING_ENDS } from "../../../demo/issuer/advance.ts";
import { SubmissionQueue } from "../../../demo/issuer/submissions.ts";
import type { ExecutedTransaction } from "../../../demo/wire/checkpoint.ts";
import { objectField, transactionField } from "../../../demo/wire/protobuf.ts";

/** Checkpoints of unrelated transactions that noise is drawn from, and transactions of each. */
const SAMPLED = 24n;
const PACE = { investors: 8, noise: 1, actionsPerCheckpoint: 60, epochLength: 1_000_000_000n };

/** Encoded pieces of a field, kept for the next checkpoint that holds it. */
const kept = <Item extends object, Field>(encode: (item: Item) => Field) => {
  const known = new WeakMap<Item, Field>();
  return (item: Item): Field => {
    const before = known.get(item);
    if (before !== undefined) return before;
    const field = encode(item);
    known.set(item, field);
    return field;
  };
};

/** Unrelated transactions for checkpoints of any size, the same at each asking. */
export const createNoise = (seed: string, genesisMs: bigint) => {
  const world = newWorld(`${seed}/noise`, false);
  const keyring = new Keyring(`${seed}/noise`, world.chain.accounts);
  const pool: ExecutedTransaction[] = [];
  let inGenesis: ReadonlySet<string> = new Set();
  for (let sequence = 0n; sequence < OPENING_ENDS + SAMPLED; sequence += 1n) {
    const { transactions } = advance(world, PACE, keyring, genesisMs, new SubmissionQueue());
    // Every simulated ledger has these objects under the same ids, with versions of its own.
    if (sequence === 0n) inGenesis = new Set(world.chain.objects.keys());
    if (sequence <= OPENING_ENDS) continue;
    pool.push(
      ...transactions.filter(({ outputs }) => !outputs.some(({ id }) => inGenesis.has(id))),
    );
  }
  const encoded = { transaction: kept(transactionField), object: kept(objectField) };
  const sizeOf = ({ data, effects, events, inputs, outputs }: ExecutedTransaction): number => {
    const objects = [...inputs, ...outputs].reduce((sum, { bytes }) => sum + bytes.length + 160, 0);
    return data.length + effects.length + (events?.length ?? 0) + objects + 500;
  };
  const sizes = pool.map(sizeOf);
  return {
    /** For `encodeProtobuf`: these transactions repeat. */
    encoded,
    /** Transactions of about so many bytes when encoded. */
    of: (sequence: bigint, bytes: number): readonly ExecutedTransaction[] => {
      const drawn: ExecutedTransaction[] = [];
      let place = Number((sequence * 2_654_435_761n) % BigInt(pool.length));
      for (let size = 0; size < bytes && drawn.length < pool.length; place += 1) {
        const transaction = pool[place % pool.length];
        if (transaction === undefined) break;
        drawn.push(transaction);
        size += sizes[place % pool.length] ?? 0;
      }
      return drawn;
    },
  };
};
