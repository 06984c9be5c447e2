/** Transactions of Open Cap Format made of what the ledger did, step by step. */
import type { HolderEvent } from "../projections/holder-events.ts";
import { OcfError } from "./ocf-error.ts";
import { type Account, type Flow, flowsOf, least } from "./ocf-flows.ts";
import type { StockIssuance, Transaction, VestingTerms } from "./ocf-forms.ts";
import { cutOf, type Lot, LotBook, newGrants, type Received } from "./ocf-lots.ts";
import type { LedgerStep } from "./ocf-source.ts";
import { dayOf, START, vestingOf } from "./ocf-vesting.ts";

/** Id of the one class of stock: the token. */
export const STOCK_CLASS = "class-1";

/** Prefix of the numbers of securities. */
export const SECURITY_PREFIX = "S-";

/** Id of the stakeholder that a holder is, or a wallet that belongs to none. */
export const stakeholderId = (holderId: bigint | null, wallet: string): string =>
  holderId === null ? `wallet-${wallet}` : `holder-${holderId}`;

/** A bound on what is written: some 10 GB. */
const MOST_TRANSACTIONS = 20_000_000;

/** What of a transaction goes into each of its objects. */
type Dated = { readonly date: string; readonly nowMs: bigint; readonly comments: string[] };

/**
 * Memory: one entry for each security that is held, each wallet that belongs to a holder, and each
 * vesting schedule.
 */
export class OcfHistory {
  readonly #numeric: (amount: bigint) => string;
  readonly #lots = new LotBook();
  readonly #holders = new Map<string, bigint>();
  readonly #terms = new Map<string, VestingTerms>();
  /** Grants that the transactions of one checkpoint made. */
  #made = { checkpoint: -1n, grants: new Set<string>() };
  #transactions = 0;
  #securities = 0;

  /** @param numeric an amount in the coin's smallest unit, as the package writes it */
  constructor(numeric: (amount: bigint) => string) {
    this.#numeric = numeric;
  }

  /** The terms that the transactions so far name, in the order of their first use. */
  get terms(): readonly VestingTerms[] {
    return [...this.#terms.values()];
  }

  /**
   * What a step is in Open Cap Format. Wallets join a holder before its movements and leave after them:
   * when a holder replaces a wallet, its tokens never were of another stakeholder.
   * @throws OcfError (stop)
   */
  transactions(step: LedgerStep): readonly Transaction[] {
    const { txDigest, checkpoint, timestampMs } = step;
    const dated = (what: string): Dated => ({
      date: dayOf(timestampMs),
      nowMs: timestampMs,
      comments: [`${what}, transaction ${txDigest}, checkpoint ${checkpoint}`],
    });
    if (this.#made.checkpoint !== checkpoint) this.#made = { checkpoint, grants: new Set() };
    // The last event of a wallet counts.
    const members = new Map(step.memberships.map((event) => [event.address ?? "", event]));
    const joins = ({ eventType }: HolderEvent) => eventType === "holder_address_added";
    const joined = [...members].filter(([, event]) => joins(event));
    const left = [...members].filter(([, event]) => !joins(event));
    const received = this.#receivedBy(step);
    return [
      ...joined.flatMap(([wallet, { holderId }]) =>
        this.#reassign(wallet, holderId, dated("wallet joined a holder")),
      ),
      ...flowsOf(step.changes, step.activity).flatMap((flow) =>
        this.#flow(flow, step, received, dated(flow.cause)),
      ),
      ...left.flatMap(([wallet]) => this.#reassign(wallet, null, dated("wallet left a holder"))),
    ];
  }

  /** What the grants of each wallet gained, in stretches. */
  #receivedBy({ changes, grants }: LedgerStep): Map<string, Received[]> {
    const gains = changes.filter(({ part, change }) => part === "GRANTS" && change > 0n);
    return new Map(
      gains.map(({ owner, change }) => [
        owner,
        [...newGrants(owner, change, grants, this.#made.grants)],
      ]),
    );
  }

  /** A wallet belongs to another stakeholder: so do its securities, each as a whole. */
  #reassign(wallet: string, holderId: bigint | null, dated: Dated): Transaction[] {
    const before = this.#stakeholderOf(wallet);
    if (holderId === null) this.#holders.delete(wallet);
    else this.#holders.set(wallet, holderId);
    if (this.#stakeholderOf(wallet) === before) return [];
    return (["TOKENS", "GRANTS"] as const).flatMap((part) =>
      this.#lots.of({ wallet, part }).flatMap((lot): Transaction[] => {
        const { securityId, quantity } = lot;
        lot.securityId = this.#nextSecurity();
        return [
          {
            object_type: "TX_STOCK_TRANSFER",
            id: this.#nextId(),
            ...header(securityId, dated),
            quantity: this.#numeric(quantity),
            resulting_security_ids: [lot.securityId],
          },
          ...this.#issuances([[wallet, lot]], dated),
        ];
      }),
    );
  }

  #flow(
    { from, to, amount, cause }: Flow,
    { grants }: LedgerStep,
    received: Map<string, Received[]>,
    dated: Dated,
  ): Transaction[] {
    /** Adds what an account receives to its lots. */
    const receive = (account: Account, quantity: bigint, inherited?: Received["part"]) =>
      stretchesOf(account, quantity, received).map(({ part, quantity }): [string, Lot] => {
        // What arrives in several stretches is not that part of the grant any more.
        const whole =
          inherited && inherited.to - inherited.from === quantity ? inherited : undefined;
        const lot = { securityId: this.#nextSecurity(), quantity, part: part ?? whole };
        this.#lots.add(account, lot);
        return [account.wallet, { ...lot }];
      });
    if (from === undefined) {
      return to === undefined ? [] : this.#issuances(receive(to, amount), dated);
    }
    const isCancelled = cause === "GRANT_CANCELLED";
    return this.#lots
      .take(from, amount, { grants, isCancelled })
      .flatMap((taken): Transaction[] => {
        const { securityId, quantity, part } = taken;
        // A grant that changed hands goes on as it was.
        const goesOn = cause === "UNKNOWN" && to?.part === "GRANTS" ? part : undefined;
        const issued = to === undefined ? [] : receive(to, quantity, goesOn);
        const resulting = issued.map(([, { securityId }]) => securityId);
        if (taken.lot.quantity > 0n) {
          taken.lot.securityId = this.#nextSecurity();
          issued.push([from.wallet, { ...taken.lot }]);
        }
        const used = {
          id: this.#nextId(),
          ...header(securityId, dated),
          quantity: this.#numeric(quantity),
          ...(taken.lot.quantity > 0n && { balance_security_id: taken.lot.securityId }),
        };
        const transaction: Transaction =
          to === undefined
            ? { object_type: "TX_STOCK_CANCELLATION", ...used, reason_text: cause }
            : { object_type: "TX_STOCK_TRANSFER", ...used, resulting_security_ids: resulting };
        return [transaction, ...this.#issuances(issued, dated)];
      });
  }

  /** Issuances of securities to their wallets, then the starts of their vesting. */
  #issuances(issued: readonly (readonly [string, Lot])[], dated: Dated): Transaction[] {
    const starts: (() => Transaction)[] = [];
    const issuances = issued.map(([wallet, { securityId, quantity, part }]): StockIssuance => {
      const vesting = part && vestingOf(part, dated.nowMs);
      const about = [`wallet ${wallet}`];
      if (part) about.push(`grant ${part.grant.objectId}`);
      if (vesting && "unfit" in vesting) about.push(`no vesting is given: ${vesting.unfit}`);
      if (vesting && "terms" in vesting) {
        this.#terms.set(vesting.terms.id, vesting.terms);
        starts.push(() => ({
          object_type: "TX_VESTING_START",
          id: this.#nextId(),
          ...header(securityId, { ...dated, date: vesting.start }),
          vesting_condition_id: START,
        }));
      }
      return {
        object_type: "TX_STOCK_ISSUANCE",
        id: this.#nextId(),
        ...header(securityId, { ...dated, comments: [...dated.comments, ...about] }),
        custom_id: `${SECURITY_PREFIX}${securityId.slice(SECURITY_WORD.length)}`,
        stakeholder_id: this.#stakeholderOf(wallet),
        stock_class_id: STOCK_CLASS,
        quantity: this.#numeric(quantity),
        share_price: { amount: "0", currency: NO_CURRENCY },
        stock_legend_ids: [],
        security_law_exemptions: [],
        ...(vesting && "terms" in vesting && { vesting_terms_id: vesting.terms.id }),
        ...(vesting &&
          "dates" in vesting && {
            vestings: vesting.dates.map(({ date, amount }) => ({
              date,
              amount: this.#numeric(amount),
            })),
          }),
      };
    });
    return [...issuances, ...starts.map((start) => start())];
  }

  #stakeholderOf(wallet: string): string {
    return stakeholderId(this.#holders.get(wallet) ?? null, wallet);
  }

  #nextId(): string {
    this.#transactions += 1;
    if (this.#transactions > MOST_TRANSACTIONS) {
      throw new OcfError(
        `there are more than ${MOST_TRANSACTIONS} transactions; write an earlier checkpoint`,
      );
    }
    return `tx-${this.#transactions}`;
  }

  #nextSecurity(): string {
    this.#securities += 1;
    return `${SECURITY_WORD}${this.#securities}`;
  }
}

const SECURITY_WORD = "security-";

/** ISO 4217: no currency is involved. */
const NO_CURRENCY = "XXX";

const header = (security_id: string, { date, comments }: Pick<Dated, "date" | "comments">) => ({
  date,
  security_id,
  comments,
});

/** An amount that an account receives, cut where what it received changes; `received` shrinks by it. */
const stretchesOf = (
  { wallet, part }: Account,
  amount: bigint,
  received: ReadonlyMap<string, Received[]>,
): readonly Received[] => {
  const queue = part === "GRANTS" ? received.get(wallet) : undefined;
  if (queue === undefined) return [{ quantity: amount, part: undefined }];
  const stretches: Received[] = [];
  for (let rest = amount; rest > 0n; ) {
    const [first] = queue;
    if (first === undefined) return [...stretches, { quantity: rest, part: undefined }];
    const quantity = least(first.quantity, rest);
    const [now, later] = cutOf(first.part, quantity, false);
    stretches.push({ quantity, part: now });
    first.quantity -= quantity;
    first.part = later;
    if (first.quantity === 0n) queue.shift();
    rest -= quantity;
  }
  return stretches;
};
