/**
 * A coin's movements up to a checkpoint, by transaction, with the events and grants that explain
 * them.
 */
import type { Reads } from "../../database/readers.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { type BalanceChange, balanceChanges } from "../../projections/balance-changes.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { type HolderEvent, holderEvents } from "../../projections/holder-events.ts";
import { FOR_HISTORIES } from "../../projections/needed.ts";
import { NotYetIndexedError } from "../../projections/past.ts";
import { placeOf, positionOf, positionsEnd } from "../../projections/position.ts";
import type { TokenTimelock } from "../../projections/timelock-objects.ts";
import { type GrantState, grantStates } from "../../projections/timelock-objects.ts";
import { type TokenActivity, tokenActivity } from "../../projections/token-activity.ts";

/** A grant after a checkpoint that wrote or ended it. */
export type TouchedGrant = {
  readonly grant: TokenTimelock;
  /** Its amount after the checkpoint; 0 if ended. */
  readonly left: bigint;
  readonly isNew: boolean;
  /** Owners before and after the checkpoint. */
  readonly owners: readonly string[];
};

/** One transaction's effects on a coin, or a checkpoint's on its grants if no balance moved. */
export type LedgerStep = {
  readonly checkpoint: bigint;
  readonly timestampMs: bigint;
  /** Null if no balance moved. */
  readonly txDigest: string | null;
  /** The last step of its checkpoint. */
  readonly isLast: boolean;
  readonly changes: readonly BalanceChange[];
  readonly activity: readonly TokenActivity[];
  readonly register: readonly HolderEvent[];
  /** Grants touched by the step's checkpoint, by object id. */
  readonly grants: ReadonlyMap<string, TouchedGrant>;
};

/** Rows of each kind in memory. */
const PAGE_ROWS = 5_000;

async function* paged<Row>(
  read: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let after: Row | undefined; ; ) {
    const rows = await read(after);
    yield* rows;
    after = rows.at(-1);
    if (rows.length < PAGE_ROWS) return;
  }
}

class Ordered<Row> implements AsyncDisposable {
  readonly #rows: AsyncGenerator<Row>;
  readonly #placeOf: (row: Row) => bigint;
  #next: Row | undefined;
  #begun = false;

  constructor(rows: AsyncGenerator<Row>, placeOf: (row: Row) => bigint) {
    this.#rows = rows;
    this.#placeOf = placeOf;
  }

  /** Place of the next row; undefined at the end. */
  async place(): Promise<bigint | undefined> {
    if (!this.#begun) await this.#advance();
    return this.#next === undefined ? undefined : this.#placeOf(this.#next);
  }

  /** The next rows, up to and including a place. */
  async upTo(place: bigint): Promise<Row[]> {
    const taken: Row[] = [];
    for (;;) {
      const at = await this.place();
      if (this.#next === undefined || at === undefined || at > place) return taken;
      taken.push(this.#next);
      await this.#advance();
    }
  }

  async #advance(): Promise<void> {
    this.#begun = true;
    const { value, done } = await this.#rows.next();
    this.#next = done ? undefined : value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rows.return(undefined);
  }
}

const transactionOf = ({ position }: { readonly position: bigint }): bigint =>
  positionOf({ ...placeOf(position), index: 0 });

/**
 * Reads in pages: memory does not depend on the length of the history.
 * @throws QuarantinedError (wait), NotYetIndexedError (wait) while history is backfilled or a pipeline is rebuilt
 */
export async function* ledgerSteps(
  reads: Reads,
  { coinType, checkpoint }: { readonly coinType: string; readonly checkpoint: bigint },
): AsyncGenerator<LedgerStep> {
  const on = guardedReads(reads, FOR_HISTORIES).ofCoin(coinType).at(checkpoint);
  const page = { coinType, limit: PAGE_ROWS } as const;
  await using changes = new Ordered(
    paged<BalanceChange>((after) => balanceChanges(on, { ...page, order: "asc", after })),
    transactionOf,
  );
  await using activity = new Ordered(
    paged<TokenActivity>((after) =>
      tokenActivity(on, { ...page, offset: 0, order: "asc", after: after?.position }),
    ),
    transactionOf,
  );
  await using events = new Ordered(
    paged<HolderEvent>((after) => holderEvents(on, { ...page, after: after?.position })),
    transactionOf,
  );
  await using states = new Ordered(
    grantStates(on, { coinType, upTo: checkpoint }),
    (state) => state.checkpoint,
  );
  const end = positionsEnd(checkpoint);
  const next = async (): Promise<bigint | undefined> => {
    const [moved, happened] = [await changes.place(), await events.place()];
    const places = [moved, happened].filter((place) => place !== undefined && place < end);
    return places.reduce((a, b) => (a === undefined || (b ?? a) < a ? b : a), undefined);
  };
  let touched: ReadonlyMap<string, TouchedGrant> = new Map();
  let touchedAt = -1n;
  for (;;) {
    const place = await next();
    const at = place === undefined ? checkpoint + 1n : placeOf(place).checkpoint;
    if (at !== touchedAt) {
      yield* exchanges(on, await states.upTo(at - 1n));
      touched = touchedBy(await states.upTo(at));
      touchedAt = at;
    }
    if (place === undefined) return;
    await activity.upTo(place - 1n);
    const rows = await changes.upTo(place);
    const ofRegister = await events.upTo(place);
    const [first] = [...rows, ...ofRegister];
    if (first === undefined) return;
    const following = await next();
    yield {
      checkpoint: at,
      timestampMs: first.timestampMs,
      txDigest: first.txDigest,
      isLast: following === undefined || placeOf(following).checkpoint > at,
      changes: rows,
      activity: await activity.upTo(place),
      register: ofRegister,
      grants: touched,
    };
  }
}

/** Checkpoints that swapped one of a wallet's grants for another without moving its balance. */
async function* exchanges(on: Reads, states: readonly GrantState[]): AsyncGenerator<LedgerStep> {
  for (const [checkpoint, of] of Map.groupBy(states, (state) => state.checkpoint)) {
    const changes = new Map<string, bigint>();
    for (const { grant, isOver } of of) {
      const key = `${grant.objectId} ${grant.owner}`;
      const left = isOver ? -grant.leftBalance : grant.leftBalance;
      changes.set(key, (changes.get(key) ?? 0n) + left);
    }
    if ([...changes.values()].every((change) => change === 0n)) continue;
    const mark = await checkpointMark(on, checkpoint);
    if (mark === null) {
      throw new NotYetIndexedError(`the time of checkpoint ${checkpoint} is still being filled in`);
    }
    const { timestampMs } = mark;
    const nothing = { changes: [], activity: [], register: [] };
    yield {
      ...nothing,
      checkpoint,
      timestampMs,
      txDigest: null,
      isLast: true,
      grants: touchedBy(of),
    };
  }
}

/** A state that follows an ended one has replaced it. */
const touchedBy = (states: readonly GrantState[]): ReadonlyMap<string, TouchedGrant> => {
  const touched = new Map<string, TouchedGrant>();
  for (const { grant, isOver } of states) {
    const isNew = !isOver && !touched.has(grant.objectId);
    const left = isOver ? 0n : grant.leftBalance;
    const before = touched.get(grant.objectId)?.owners ?? [];
    const owners = [...new Set([...before, grant.owner])];
    touched.set(grant.objectId, { grant, left, isNew, owners });
  }
  return touched;
};
