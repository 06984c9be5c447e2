/** Turns ledger steps into Open Cap Format transactions. */
import { lowest } from "../../values/bigints.ts";
import { type Acquisition, acquisitionsOf, receivedBy } from "./acquisitions.ts";
import { type Account, flowsOf } from "./flows.ts";
import type { StockLegendTemplate, Transaction, VestingTerms } from "./forms.ts";
import { type Lot, LotBook, type LotPolicy, type Received, type Taken } from "./lots.ts";
import { type Dated, type Issued, OcfWriter } from "./securities.ts";
import type { LedgerStep, TouchedGrant } from "./source.ts";
import type { GrantPart } from "./vesting.ts";
import { legendTemplate, WalletBook } from "./wallets.ts";

const PARTS = ["TOKENS", "GRANTS"] as const;

/** The quantity taken, and the account of its lots. */
type TakenFrom = { readonly from: Account; readonly taken: Taken };

/**
 * Memory: one entry per held security, per wallet with a holder, group or freeze, per schedule and
 * legend.
 */
export class OcfHistory {
  readonly #writer: OcfWriter;
  readonly #lots: LotBook;
  readonly #wallets = new WalletBook();
  /** Grants made by one checkpoint's transactions. */
  #made = { checkpoint: -1n, grants: new Set<string>() };
  /** Dates never go back, even if checkpoint times do. */
  #latestMs = 0n;

  /** @param digits decimals of a quantity in whole shares */
  constructor({ digits, lots }: { readonly digits: number; readonly lots: LotPolicy }) {
    this.#writer = new OcfWriter(digits);
    this.#lots = new LotBook(lots);
  }

  /** In the order of their first use. */
  get terms(): readonly VestingTerms[] {
    return this.#writer.terms;
  }

  /** In the order of their first use. */
  get legends(): readonly StockLegendTemplate[] {
    return this.#writer.legends.map(legendTemplate);
  }

  /**
   * The transactions of a step; read to the end. Wallets join a holder before the movements and
   * leave after, so that a replaced wallet's tokens never change stakeholder. Movements issue
   * securities with the legends after the step; other holdings are reissued.
   * @throws OcfError (stop)
   */
  *transactions(step: LedgerStep): Generator<Transaction> {
    const { txDigest, checkpoint, timestampMs, register } = step;
    if (timestampMs > this.#latestMs) this.#latestMs = timestampMs;
    const nowMs = this.#latestMs;
    const dated = (what: string): Dated => ({
      nowMs,
      comments: [
        txDigest === null
          ? `${what}, checkpoint ${checkpoint}`
          : `${what}, transaction ${txDigest}, checkpoint ${checkpoint}`,
      ],
    });
    if (this.#made.checkpoint !== checkpoint) this.#made = { checkpoint, grants: new Set() };
    const relabelled = new Map<string, string[]>();
    for (const event of register) {
      const words = this.#wallets.restrict(event);
      if (words === null || event.address === null) continue;
      relabelled.set(event.address, [...(relabelled.get(event.address) ?? []), words]);
    }
    // A wallet's last event counts.
    const members = new Map(
      register.flatMap(({ address, holderId, eventType }) =>
        address === null || holderId === null
          ? []
          : [[address, eventType === "holder_address_added" ? holderId : null] as const],
      ),
    );
    for (const [wallet, holderId] of members) {
      if (holderId === null) continue;
      yield* this.#reassign(wallet, holderId, dated("wallet joined a holder"));
    }
    const received = receivedBy(step, this.#made.grants);
    for (const acquisition of acquisitionsOf(flowsOf(step.changes, step.activity), received)) {
      yield* this.#acquire(acquisition, step, dated(causeOf(acquisition)));
    }
    for (const [wallet, holderId] of members) {
      if (holderId !== null) continue;
      yield* this.#reassign(wallet, null, dated("wallet left a holder"));
    }
    for (const [wallet, words] of relabelled) {
      yield* this.#reissue(wallet, words.join(", "), dated);
    }
    if (step.isLast) yield* this.#settle(step, dated("a grant took another one's place"));
  }

  /** A wallet's securities follow it to its new stakeholder, each as a whole. */
  *#reassign(wallet: string, holderId: bigint | null, dated: Dated): Generator<Transaction> {
    if (!this.#wallets.moveTo(wallet, holderId)) return;
    for (const [account, lot] of this.#heldBy(wallet)) {
      const { securityId, quantity } = lot;
      const renewed = this.#renew(account, lot);
      const used = { securityId, quantity, balance: undefined };
      yield this.#writer.transfer(used, renewed.securityId, dated);
      yield* this.#writer.issuances([renewed], dated);
    }
  }

  /** Reissues a wallet's securities if its legends changed. */
  *#reissue(wallet: string, reason: string, dated: (what: string) => Dated) {
    const legends = this.#wallets.legendsOf(wallet);
    for (const [account, lot] of this.#heldBy(wallet)) {
      if (lot.legends === legends) continue;
      const { securityId } = lot;
      const renewed = this.#renew(account, lot);
      yield this.#writer.reissuance(securityId, [renewed.securityId], reason, dated(reason));
      yield* this.#writer.issuances([renewed], dated(reason));
    }
  }

  /** After each checkpoint, grant securities match the ledger's grants. */
  *#settle({ grants }: LedgerStep, dated: Dated): Generator<Transaction> {
    const wallets = new Set([...grants.values()].flatMap(({ owners }) => owners));
    for (const wallet of wallets) {
      const account = { wallet, part: "GRANTS" } as const;
      const resettled = resettle(wallet, this.#lots.of(account), grants);
      if (resettled === null) continue;
      const legends = this.#wallets.legendsOf(wallet);
      const made = resettled.into.map(({ quantity, part }): Lot => {
        return { securityId: this.#writer.nextSecurity(), quantity, part, legends };
      });
      const open = made.map(({ securityId, quantity }) => ({ securityId, rest: quantity }));
      for (const { securityId, quantity } of resettled.lots) {
        const into: string[] = [];
        let rest = quantity;
        for (const target of open) {
          const amount = lowest(rest, target.rest);
          if (amount === 0n) continue;
          rest -= amount;
          target.rest -= amount;
          into.push(target.securityId);
        }
        yield this.#writer.reissuance(securityId, into, "grants of the wallet changed", dated);
      }
      this.#lots.replace(account, resettled.lots, made);
      yield* this.#writer.issuances(
        made.map((lot) => this.#issued(account, lot)),
        dated,
      );
    }
  }

  /** Makes one security; "kept" parts of grants get one each. */
  *#acquire(
    acquisition: Acquisition,
    { grants }: LedgerStep,
    dated: Dated,
  ): Generator<Transaction> {
    const { to, amount, cause, sources, part } = acquisition;
    const how = { grants, isCancelled: cause === "GRANT_CANCELLED" };
    const takens = sources.flatMap((source) =>
      this.#lots
        .take(source.from, source.amount, how)
        .map((taken): TakenFrom => ({ from: source.from, taken })),
    );
    if (to === undefined) {
      for (const { from, taken } of takens) {
        const balance = this.#balanceOf(from, taken);
        const used = { ...taken, balance: balance?.securityId };
        yield this.#writer.cancellation(used, cause, dated);
        if (balance !== undefined) yield* this.#writer.issuances([balance], dated);
      }
    } else if (part === "kept") {
      for (const one of takens) {
        yield* this.#receive(to, one.taken.quantity, one.taken.part, [one], dated);
      }
    } else yield* this.#receive(to, amount, part, takens, dated);
  }

  *#receive(
    to: Account,
    quantity: bigint,
    part: GrantPart | undefined,
    takens: readonly TakenFrom[],
    dated: Dated,
  ): Generator<Transaction> {
    const lot: Lot = {
      securityId: this.#writer.nextSecurity(),
      quantity,
      part,
      legends: this.#wallets.legendsOf(to.wallet),
    };
    const issued = [this.#issued(to, lot)];
    for (const { from, taken } of takens) {
      const balance = this.#balanceOf(from, taken);
      if (balance !== undefined) issued.push(balance);
      const used = { ...taken, balance: balance?.securityId };
      yield this.#writer.transfer(used, lot.securityId, dated);
    }
    this.#lots.add(to, lot);
    yield* this.#writer.issuances(issued, dated);
  }

  /** The remainder of a lot becomes a new security in its place. */
  #balanceOf(from: Account, { lot }: Taken): Issued | undefined {
    return lot.quantity > 0n ? this.#renew(from, lot) : undefined;
  }

  #renew(account: Account, lot: Lot): Issued {
    lot.securityId = this.#writer.nextSecurity();
    lot.legends = this.#wallets.legendsOf(account.wallet);
    return this.#issued(account, lot);
  }

  #issued({ wallet, part }: Account, lot: Lot): Issued {
    const stakeholder = this.#wallets.stakeholderOf(wallet);
    return { ...lot, wallet, stakeholder, isGranted: part === "GRANTS" };
  }

  *#heldBy(wallet: string): Generator<readonly [Account, Lot]> {
    for (const part of PARTS) {
      const account = { wallet, part };
      for (const lot of this.#lots.of(account)) yield [account, lot];
    }
  }
}

const causeOf = ({ cause }: Acquisition): string =>
  cause === "FORCE_TRANSFER"
    ? `${cause}: a transfer admin moved it, without its owner's consent`
    : cause;

/** Securities to reissue, with replacements of the same amount. */
type Resettled = { readonly lots: readonly Lot[]; readonly into: readonly Received[] };

const sumOf = (all: readonly { readonly quantity: bigint }[]): bigint =>
  all.reduce((sum, { quantity }) => sum + quantity, 0n);

/**
 * @param held lots of the wallet's grants
 * @returns null if nothing changes, or if the ledger's grants exceed the wallet's securities
 */
const resettle = (
  wallet: string,
  held: readonly Lot[],
  grants: ReadonlyMap<string, TouchedGrant>,
): Resettled | null => {
  const lots: Lot[] = [];
  const into: Received[] = [];
  for (const [objectId, { grant, left }] of grants) {
    const of = held.filter(({ part }) => part?.grant.objectId === objectId);
    const quantity = grant.owner === wallet ? left : 0n;
    const from = grant.tokensTransferred;
    const part = { grant, from, to: from + quantity };
    if (part.to > grant.totalAmount || isWhole(of, part)) continue;
    lots.push(...of);
    if (quantity > 0n) into.push({ quantity, part });
  }
  if (sumOf(into) > sumOf(lots)) lots.push(...held.filter(({ part }) => part === undefined));
  const rest = sumOf(lots) - sumOf(into);
  if (rest < 0n || lots.length === 0) return null;
  if (rest > 0n) into.push({ quantity: rest, part: undefined });
  return { lots, into };
};

/** Whether a grant's lots are exactly this part of it. */
const isWhole = (
  lots: readonly Lot[],
  { from, to }: { readonly from: bigint; readonly to: bigint },
): boolean => {
  const parts = lots.flatMap(({ part }) => (part === undefined ? [] : [part]));
  const isInside = parts.every((part) => part.from >= from && part.to <= to);
  return isInside && sumOf(lots) === to - from;
};
