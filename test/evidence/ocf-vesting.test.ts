/** What vests by a day in Open Cap Format is what the contract has unlocked by then. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { OcfCheck } from "../../src/evidence/ocf/check.ts";
import type { Transaction } from "../../src/evidence/ocf/forms.ts";
import { OcfHistory } from "../../src/evidence/ocf/history.ts";
import { LOT_POLICIES } from "../../src/evidence/ocf/lots.ts";
import type { LedgerStep, TouchedGrant } from "../../src/evidence/ocf/source.ts";
import type { Cause, ChangedPart } from "../../src/projections/balance-changes.ts";
import type { TokenTimelock } from "../../src/projections/timelock-objects.ts";
import { claimableAt } from "../../src/projections/unlocking.ts";
import { search } from "../random.ts";

const MINUTE = 60_000n;
const DAY = 1_440n * MINUTE;
const START = 1_735_689_600_000n;
const OWNERS = ["0xa", "0xb"];
const FUNDER = "0xf";

type Grant = TokenTimelock;
/** By owner and part. */
type Balances = ReadonlyMap<string, bigint>;

/** A contract that is told what to do, and the steps that a register would have of it. */
class Ledger {
  readonly grants = new Map<string, Grant>();
  nowMs = START;
  #tokens = new Map<string, bigint>();
  #made = 0;
  #balances: Balances = new Map();
  /** Of the checkpoint that is under way, as is what it touched. */
  #steps: LedgerStep[] = [];
  #touched = new Map<string, TouchedGrant>();
  #checkpoint = 0n;

  constructor() {
    this.#tokens.set(FUNDER, 10n ** 12n);
    this.step("MINT");
  }

  fund(terms: Partial<Grant>, owner: string): void {
    this.#made += 1;
    const { totalAmount = 1n } = terms;
    const grant: Grant = {
      objectId: `g${this.#made}`,
      owner,
      funder: FUNDER,
      releaseScheduleId: 0n,
      releaseCount: 1n,
      delayUntilFirstReleaseMs: 0n,
      periodBetweenReleasesMs: 0n,
      initialReleasePortionBps: 0n,
      commencementTimestampMs: this.nowMs,
      totalAmount,
      tokensTransferred: 0n,
      leftBalance: totalAmount,
      ...terms,
    };
    this.#give(FUNDER, -totalAmount);
    this.#put(grant, true);
  }

  claim(grant: Grant): void {
    const claimed = claimableAt(grant, this.nowMs);
    if (claimed === 0n) return;
    this.#give(grant.owner, claimed);
    const { tokensTransferred, leftBalance } = grant;
    this.#put({
      ...grant,
      tokensTransferred: tokensTransferred + claimed,
      leftBalance: leftBalance - claimed,
    });
  }

  cancel(grant: Grant): void {
    const locked = grant.leftBalance - claimableAt(grant, this.nowMs);
    if (locked === 0n) return;
    this.#give(FUNDER, locked);
    this.#put({ ...grant, leftBalance: grant.leftBalance - locked });
  }

  handOver(grant: Grant, owner: string): void {
    this.#put({ ...grant, owner });
  }

  /** Of the register alone. */
  say(owner: string, event: { readonly isFrozen: boolean } | { readonly holderId: bigint }): void {
    const nothing = { holderId: null, groupId: null, isFrozen: null, ...event };
    const eventType = "isFrozen" in event ? "address_frozen" : "holder_address_added";
    const [coinType, txDigest] = ["0x2::a::A", "digest"];
    const place = { coinType, txDigest, position: 0n, timestampMs: 0n, eventSeq: 0 };
    this.step("UNKNOWN", [{ address: owner, eventType, ...nothing, ...place }]);
  }

  #give(wallet: string, amount: bigint): void {
    this.#tokens.set(wallet, (this.#tokens.get(wallet) ?? 0n) + amount);
  }

  #put(grant: Grant, isNew = false): void {
    const touched = this.#touched.get(grant.objectId);
    const wasNew = isNew || touched?.isNew === true;
    const [before] = touched?.owners ?? [this.grants.get(grant.objectId)?.owner ?? grant.owner];
    this.grants.set(grant.objectId, grant);
    const owners = [...new Set([...(wasNew || !before ? [] : [before]), grant.owner])];
    this.#touched.set(grant.objectId, { grant, left: grant.leftBalance, isNew: wasNew, owners });
  }

  /** Ends a transaction: what it did is known by what it left. */
  step(cause: Cause, register: LedgerStep["register"] = []): void {
    const balances = new Map<string, bigint>();
    for (const [wallet, tokens] of this.#tokens) balances.set(`TOKENS ${wallet}`, tokens);
    for (const { owner, leftBalance } of this.grants.values()) {
      balances.set(`GRANTS ${owner}`, (balances.get(`GRANTS ${owner}`) ?? 0n) + leftBalance);
    }
    const [checkpoint, timestampMs] = [this.#checkpoint, this.nowMs];
    const txDigest = `digest${checkpoint}-${this.#steps.length}`;
    const about = { txDigest, timestampMs, checkpoint };
    const change = (part: ChangedPart, owner: string) => {
      const key = `${part} ${owner}`;
      const balanceAfter = balances.get(key) ?? 0n;
      const moved = balanceAfter - (this.#balances.get(key) ?? 0n);
      if (moved === 0n) return [];
      const place = { coinType: "0x2::a::A", position: 0n };
      return [{ ...about, ...place, owner, part, cause, change: moved, balanceAfter }];
    };
    const wallets = [...OWNERS, FUNDER];
    const changes = [
      ...wallets.flatMap((owner) => change("TOKENS", owner)),
      ...wallets.flatMap((owner) => change("GRANTS", owner)),
    ];
    this.#balances = balances;
    const grants = this.#touched;
    this.#steps.push({ ...about, isLast: false, changes, activity: [], register, grants });
  }

  /**
   * Ends a checkpoint. Transactions that moved nothing are no steps, unless there are no others; grants that
   * began and ended in it left no state.
   */
  end(): readonly LedgerStep[] {
    const [all, touched] = [this.#steps, this.#touched];
    for (const [id, { isNew, left }] of touched) if (isNew && left === 0n) touched.delete(id);
    this.#steps = [];
    this.#touched = new Map();
    this.#checkpoint += 1n;
    const moved = all.filter(({ changes, register }) => changes.length + register.length > 0);
    const steps = moved.length > 0 || touched.size === 0 ? moved : all.slice(-1);
    return steps.map((step, at) => ({ ...step, isLast: at === steps.length - 1 }));
  }
}

const amount = fc.oneof(
  fc.bigInt(1n, 9n),
  // Whole shares that divide well: for vesting terms.
  fc.bigInt(1n, 9n).map((n) => n * 1_200_000n),
  fc.bigInt(1n, 10n ** 9n),
);
const time = fc.oneof(
  fc.bigInt(0n, 400n).map((n) => n * DAY),
  fc.bigInt(0n, 3n * DAY),
);
const terms = fc.record({
  totalAmount: amount,
  releaseCount: fc.oneof(fc.bigInt(1n, 13n), fc.bigInt(1n, 900n)),
  delayUntilFirstReleaseMs: time,
  periodBetweenReleasesMs: fc.oneof(
    fc.constantFrom(0n, MINUTE, DAY, 30n * DAY),
    fc.bigInt(0n, 3n * DAY),
  ),
  initialReleasePortionBps: fc.constantFrom(0n, 1n, 2_500n, 3_333n, 10_000n),
});
const which = fc.nat(3);
const owner = fc.constantFrom(...OWNERS);
type Act = (ledger: Ledger) => void;
const onGrant = (act: (ledger: Ledger, grant: Grant) => void) =>
  which.map(
    (n): Act =>
      (ledger) => {
        const grant = [...ledger.grants.values()][n];
        if (grant !== undefined) act(ledger, grant);
      },
  );
const fund = fc
  // Begun before, now, or later.
  .tuple(terms, owner, fc.constantFrom(-1n, 0n, 0n, 1n), time)
  .map(
    ([said, to, way, ms]): Act =>
      (ledger) => {
        const commencementTimestampMs = ledger.nowMs + way * ms;
        ledger.fund({ ...said, commencementTimestampMs }, to);
      },
  );
const claim = onGrant((ledger, grant) => ledger.claim(grant));
const cancel = onGrant((ledger, grant) => ledger.cancel(grant));
const handOver = fc
  .tuple(owner, which)
  .chain(([to]) => onGrant((ledger, grant) => ledger.handOver(grant, to)));
/** One of what is cancelled is funded anew: no balance moves. */
const exchange = fc.tuple(which, terms).map(
  ([n, said]): Act =>
    (ledger) => {
      const grant = [...ledger.grants.values()][n];
      if (grant === undefined) return;
      const locked = grant.leftBalance - claimableAt(grant, ledger.nowMs);
      if (locked === 0n) return;
      ledger.cancel(grant);
      const commencementTimestampMs = ledger.nowMs;
      ledger.fund({ ...said, totalAmount: locked, commencementTimestampMs }, grant.owner);
    },
);
const alone = (cause: Cause, acts: fc.Arbitrary<Act>) =>
  acts.map(
    (doIt): Act =>
      (ledger) => {
        doIt(ledger);
        ledger.step(cause);
      },
  );
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: alone("GRANT_FUNDED", fund) },
  { weight: 4, arbitrary: alone("GRANT_CLAIMED", claim) },
  alone("GRANT_CANCELLED", cancel),
  alone("UNKNOWN", handOver),
  alone("UNKNOWN", exchange),
  {
    weight: 2,
    // Several in one transaction, whatever is named as its cause.
    arbitrary: fc
      .tuple(
        fc.array(fc.oneof(fund, claim, cancel), { minLength: 2, maxLength: 4 }),
        fc.constantFrom("GRANT_FUNDED", "GRANT_CLAIMED", "GRANT_CANCELLED", "UNKNOWN"),
      )
      .map(
        ([acts, cause]): Act =>
          (ledger) => {
            for (const doIt of acts) doIt(ledger);
            ledger.step(cause);
          },
      ),
  },
  fc.tuple(owner, fc.boolean()).map(
    ([wallet, isFrozen]): Act =>
      (ledger) =>
        ledger.say(wallet, { isFrozen }),
  ),
  fc.tuple(owner, fc.bigInt(0n, 2n)).map(
    ([wallet, holderId]): Act =>
      (ledger) =>
        ledger.say(wallet, { holderId }),
  ),
);

const dayOf = (ms: bigint): string => new Date(Number(ms)).toISOString().slice(0, 10);

type Issuance = Extract<Transaction, { object_type: "TX_STOCK_ISSUANCE" }>;

/** Smallest units that vested of a security by the end of a day, as a reader of the package finds it. */
const vestedBy = (
  issuance: Issuance,
  history: OcfHistory,
  starts: ReadonlyMap<string, string>,
  day: string,
  share: bigint,
): bigint => {
  const units = (text: string) => {
    const [whole = "", fraction = ""] = text.split(".");
    return BigInt(whole) * share + BigInt(fraction.padEnd(share.toString().length - 1, "0") || "0");
  };
  const quantity = units(issuance.quantity);
  if (issuance.vestings !== undefined) {
    const due = issuance.vestings.filter(({ date }) => date <= day);
    return due.reduce((sum, one) => sum + units(one.amount), 0n);
  }
  const found = history.terms.find(({ id }) => id === issuance.vesting_terms_id);
  const start = starts.get(issuance.security_id);
  if (found === undefined || start === undefined) return quantity;
  let vested = 0n;
  let reached = BigInt(Date.parse(start));
  for (const { portion, trigger } of found.vesting_conditions) {
    if (trigger.type !== "VESTING_SCHEDULE_RELATIVE" || portion === undefined) continue;
    const { length, occurrences } = trigger.period;
    for (let n = 0; n < occurrences; n += 1) {
      reached += BigInt(length) * DAY;
      if (dayOf(reached) > day) return vested;
      const released = quantity * BigInt(portion.numerator);
      // Whole shares: whatever the reader rounds to.
      expect(released % (BigInt(portion.denominator) * share)).toBe(0n);
      vested += released / BigInt(portion.denominator);
    }
  }
  return vested;
};

test("by every day as much has vested as the contract has unlocked by its end, and nothing before issue", async () => {
  let byTerms = 0;
  await search(
    fc.property(
      // Of each checkpoint.
      fc.array(fc.tuple(fc.array(act, { minLength: 1, maxLength: 5 }), time), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.constantFrom(...LOT_POLICIES),
      fc.constantFrom(0, 6),
      fc.array(time, { minLength: 4, maxLength: 4 }),
      (checkpoints, lots, digits, later) => {
        const ledger = new Ledger();
        const history = new OcfHistory({ digits, lots });
        const check = new OcfCheck();
        check.stockClass(JSON.stringify(STOCK));
        const held = new Map<string, Issuance>();
        const starts = new Map<string, string>();
        const share = 10n ** BigInt(digits);
        for (const [acts, passed] of checkpoints) {
          for (const doIt of acts) doIt(ledger);
          for (const step of ledger.end()) {
            for (const transaction of history.transactions(step)) {
              check.transaction(JSON.stringify(transaction));
              const { security_id } = transaction;
              if (transaction.object_type === "TX_STOCK_ISSUANCE") {
                held.set(security_id, transaction);
              } else if (transaction.object_type === "TX_VESTING_START") {
                starts.set(security_id, transaction.date);
                byTerms += 1;
              } else held.delete(security_id);
            }
          }
          let atMs = ledger.nowMs;
          for (const ms of later) {
            const day = dayOf(atMs);
            const dayEnd = (atMs / DAY + 1n) * DAY - 1n;
            for (const grant of ledger.grants.values()) {
              const ofGrant = [...held.values()].filter(({ comments }) =>
                comments?.includes(`grant ${grant.objectId}`),
              );
              const vested = ofGrant.map((one) => vestedBy(one, history, starts, day, share));
              const sum = vested.reduce((all, one) => all + one, 0n);
              expect(sum).toBe(claimableAt(grant, dayEnd));
            }
            atMs += ms;
          }
          ledger.nowMs += passed;
        }
      },
    ),
    400,
  );
  expect(byTerms).toBeGreaterThan(0);
});

const STOCK = {
  object_type: "STOCK_CLASS",
  id: "class-1",
  name: "A",
  class_type: "COMMON",
  default_id_prefix: "S-",
  initial_shares_authorized: "NOT APPLICABLE",
  votes_per_share: "1",
  seniority: "1",
};
