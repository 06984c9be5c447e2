/** All movements of a coin up to a checkpoint, transaction by transaction, with what explains them. */
import type { Database } from "../database/connect.ts";
import { type BalanceChange, balanceChanges } from "../projections/balance-changes.ts";
import { type GrantState, grantStates } from "../projections/grant-states.ts";
import { guardedReads } from "../projections/guarded-reads.ts";
import { type HolderEvent, holderEvents } from "../projections/holder-events.ts";
import { FOR_HISTORIES } from "../projections/needed.ts";
import { placeOf, positionOf, positionsEnd } from "../projections/position.ts";
import type { TokenTimelock } from "../projections/timelock-objects.ts";
import { type TokenActivity, tokenActivity } from "../projections/token-activity.ts";

/** A grant after a checkpoint that wrote or ended it. */
export type TouchedGrant = {
  readonly grant: TokenTimelock;
  /** What it holds after the checkpoint; 0 when it has ended. */
  readonly left: bigint;
  /** Whether the checkpoint made it. */
  readonly isNew: boolean;
};

/** What one transaction did to a coin. */
export type LedgerStep = {
  readonly checkpoint: bigint;
  readonly timestampMs: bigint;
  readonly txDigest: string;
  /** By owner, tokens before grants. */
  readonly changes: readonly BalanceChange[];
  readonly activity: readonly TokenActivity[];
  /** What happened to holders, groups and freezes. */
  readonly register: readonly HolderEvent[];
  /** Grants that the step's checkpoint touched, by object id. */
  readonly grants: ReadonlyMap<string, TouchedGrant>;
};

/** Rows of each kind in memory. */
const AT_ONCE = 5_000;

async function* paged<Row>(
  read: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (let after: Row | undefined; ; ) {
    const rows = await read(after);
    yield* rows;
    after = rows.at(-1);
    if (rows.length < AT_ONCE) return;
  }
}

/** Rows in order, taken as far as they belong to what is asked for. */
class Ordered<Row> implements AsyncDisposable {
  readonly #rows: AsyncGenerator<Row>;
  readonly #placeOf: (row: Row) => bigint;
  #next: Row | undefined;
  #begun = false;

  constructor(rows: AsyncGenerator<Row>, placeOf: (row: Row) => bigint) {
    this.#rows = rows;
    this.#placeOf = placeOf;
  }

  /** Place of the next row; undefined behind the last. */
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

/** The place of the transaction that an event belongs to. */
const transactionOf = ({ position }: { readonly position: bigint }): bigint =>
  positionOf({ ...placeOf(position), index: 0 });

/**
 * Reads in pages: memory depends neither on how many movements there are nor on how long ago they began.
 * @throws NotYetIndexedError (wait) while the history of an upgraded database is being filled in, or a
 *   pipeline is being rebuilt
 */
export async function* ledgerSteps(
  { db }: Pick<Database, "db">,
  { coinType, checkpoint }: { readonly coinType: string; readonly checkpoint: bigint },
): AsyncGenerator<LedgerStep> {
  const on = guardedReads(db, FOR_HISTORIES);
  const page = { coinType, limit: AT_ONCE } as const;
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
    grantStates(db.sql, { coinType, upTo: checkpoint }),
    (state) => state.checkpoint,
  );
  const end = positionsEnd(checkpoint);
  let touched: ReadonlyMap<string, TouchedGrant> = new Map();
  let touchedAt = -1n;
  for (;;) {
    const [moved, happened] = [await changes.place(), await events.place()];
    const places = [moved, happened].filter((place) => place !== undefined && place < end);
    const place = places.reduce((a, b) => (a === undefined || (b ?? a) < a ? b : a), undefined);
    if (place === undefined) return;
    const at = placeOf(place).checkpoint;
    if (at !== touchedAt) {
      await states.upTo(at - 1n);
      touched = touchedBy(await states.upTo(at));
      touchedAt = at;
    }
    await activity.upTo(place - 1n);
    const rows = await changes.upTo(place);
    const ofRegister = await events.upTo(place);
    const [first] = [...rows, ...ofRegister];
    if (first === undefined) return;
    yield {
      checkpoint: at,
      timestampMs: first.timestampMs,
      txDigest: first.txDigest,
      changes: rows,
      activity: await activity.upTo(place),
      register: ofRegister,
      grants: touched,
    };
  }
}

/** A state that came after one that is over has replaced it. */
const touchedBy = (states: readonly GrantState[]): ReadonlyMap<string, TouchedGrant> => {
  const touched = new Map<string, TouchedGrant>();
  for (const { grant, isOver } of states) {
    const isNew = !isOver && !touched.has(grant.objectId);
    touched.set(grant.objectId, { grant, left: isOver ? 0n : grant.leftBalance, isNew });
  }
  return touched;
};
