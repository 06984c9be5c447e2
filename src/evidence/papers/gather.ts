/** Gathers the papers' data during verification. Memory grows with holders and kept lists. */

import { createHash } from "node:crypto";
import { decodeBurn, decodeForceTransfer, decodeMint } from "../../ledger/contract/events.ts";
import { BURN, FORCE_TRANSFER, MINT } from "../../ledger/contract/names.ts";
import type { EventFact, Fact } from "../../log/fact.ts";
import type { HolderEventRow } from "../../projections/holder-events.ts";
import { placeOf } from "../../projections/position.ts";
import type { RoleEventRow } from "../../projections/roles.ts";
import { FirstRows } from "../document/document.ts";
import type { ProvenRegister, Witness } from "../pack/check.ts";
import { type Movement, movementLine } from "../pack/lines.ts";
import type { Happened } from "../pack/register.ts";
import { RollForward } from "./roll-forward.ts";
import { Wallets } from "./wallets.ts";

export type LedgerPlace = {
  readonly checkpoint: bigint;
  readonly timestampMs: bigint;
  readonly txDigest: string;
};

/** A movement with its wallet's row. */
export type Moved = LedgerPlace & Movement & { readonly row: string };

export type Forced = LedgerPlace & {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
  readonly sender: string;
};

/** A register event with its sender and its wallet's previous row. */
export type Changed = LedgerPlace &
  HolderEventRow & { readonly sender: string; readonly row: string };

type RoleChanged = LedgerPlace & RoleEventRow;

/** A letter lists the newest movements. */
const IN_A_LETTER = 40;

/** Movements for a letter. */
export type LetterMoves = { all: number; readonly newest: Moved[] };

export class Gathering implements Witness {
  readonly forced = new FirstRows<Forced>();
  readonly freezes = new FirstRows<Changed>();
  readonly changes = new FirstRows<Changed>();
  readonly roles = new FirstRows<RoleChanged>();
  readonly whileFrozen = new FirstRows<Moved>();
  readonly unknown = new FirstRows<Moved>();
  readonly cancelled = new FirstRows<Moved>();
  readonly rollForward = new RollForward();
  readonly sample: Draw<Moved>;
  /** By row, for the requested letters. */
  readonly letters: ReadonlyMap<string, LetterMoves>;
  readonly wallets = new Wallets();
  /** Sums of the contract's own events. */
  minted = 0n;
  burned = 0n;

  /** @param rows that need letters */
  constructor(seed: string, size: number, rows: Iterable<string>) {
    this.sample = new Draw(seed, size);
    this.letters = new Map([...rows].map((row) => [row, { all: 0, newest: [] }]));
  }

  opens(first: ProvenRegister): void {
    this.wallets.open(first);
    this.rollForward.open(first);
  }

  happens(facts: readonly Fact[], { movements, holderEvents, roleEvents }: Happened): void {
    const senders = new Map(facts.map(({ txDigest, sender }) => [txDigest, sender]));
    for (const fact of facts) if (fact.kind === "event") this.#addEvent(fact);
    for (const event of roleEvents) this.roles.add({ ...event, ...place(event) });
    // By transaction: wallets change rows between transactions.
    const events = Map.groupBy(holderEvents, ({ txDigest }) => txDigest);
    const moves = Map.groupBy(movements, ({ txDigest }) => txDigest);
    const inOrder = [...holderEvents, ...movements].sort((a, b) =>
      a.position === b.position ? 0 : a.position < b.position ? -1 : 1,
    );
    for (const txDigest of new Set(inOrder.map((one) => one.txDigest))) {
      const touched = new Set<string>();
      for (const event of events.get(txDigest) ?? []) {
        if (event.isFrozen && event.address !== null) touched.add(event.address);
        if (event.isFrozen === false && this.wallets.isFrozen(event.address)) {
          touched.add(event.address ?? "");
        }
        this.#happened(event, senders.get(txDigest) ?? "");
      }
      for (const movement of moves.get(txDigest) ?? []) {
        this.#moved(movement, touched.has(movement.owner));
      }
    }
  }

  #addEvent(fact: EventFact): void {
    if (fact.name === MINT) this.minted += decodeMint(fact.contents).amount;
    if (fact.name === BURN) this.burned += decodeBurn(fact.contents).amount;
    if (fact.name !== FORCE_TRANSFER) return;
    const { from, to, amount } = decodeForceTransfer(fact.contents);
    const { sender, txDigest, timestampMs, checkpoint } = fact;
    this.forced.add({ checkpoint, timestampMs, txDigest, from, to, amount, sender });
  }

  #happened(event: HolderEventRow, sender: string): void {
    const row = event.address === null ? "" : this.wallets.rowOf(event.address);
    const changed = { ...event, ...place(event), sender, row };
    (event.eventType === "address_frozen" ? this.freezes : this.changes).add(changed);
    const passed = this.wallets.happened(event);
    if (passed !== null) this.rollForward.passed(passed);
  }

  #moved(movement: Movement, wasFrozen: boolean): void {
    const { owner, cause, change } = movement;
    const row = this.wallets.rowOf(owner);
    const moved = { ...movement, ...place(movement), row };
    this.rollForward.moved(row, movement);
    this.wallets.moved(owner, change);
    if (wasFrozen || this.wallets.isFrozen(owner)) this.whileFrozen.add(moved);
    if (cause === "UNKNOWN") this.unknown.add(moved);
    if (cause === "GRANT_CANCELLED") this.cancelled.add(moved);
    this.sample.offer(movementLine(movement), moved);
    const letter = this.letters.get(row);
    if (letter === undefined) return;
    letter.all += 1;
    letter.newest.push(moved);
    if (letter.newest.length > IN_A_LETTER) letter.newest.shift();
  }
}

const place = ({
  position,
  timestampMs,
  txDigest,
}: Pick<Movement, "position" | "timestampMs" | "txDigest">): LedgerPlace => ({
  checkpoint: placeOf(position).checkpoint,
  timestampMs,
  txDigest,
});

/** SHA-256 (hex) of the UTF-8 seed, LF, and the line without its LF. */
const rankOf = (seed: string, line: string): string =>
  createHash("sha256").update(`${seed}\n${line}`).digest("hex");

type Drawn<Item> = { readonly rank: string; readonly item: Item };

export class Draw<Item> {
  readonly #seed: string;
  readonly #size: number;
  /** By rank, ascending. */
  readonly #drawn: Drawn<Item>[] = [];
  #of = 0;

  constructor(seed: string, size: number) {
    this.#seed = seed;
    this.#size = size;
  }

  /** In drawing order. */
  get drawn(): readonly Drawn<Item>[] {
    return this.#drawn;
  }

  /** Size of the population. */
  get of(): number {
    return this.#of;
  }

  offer(line: string, item: Item): void {
    this.#of += 1;
    const rank = rankOf(this.#seed, line);
    const last = this.#drawn.at(-1);
    if (this.#drawn.length === this.#size && (last === undefined || rank >= last.rank)) return;
    const behind = this.#drawn.findIndex((one) => one.rank > rank);
    this.#drawn.splice(behind < 0 ? this.#drawn.length : behind, 0, { rank, item });
    if (this.#drawn.length > this.#size) this.#drawn.pop();
  }
}
