import fc from "fast-check";
import { expect, test } from "vitest";
import { flowsOf } from "../../src/evidence/ocf/flows.ts";
import { OcfHistory } from "../../src/evidence/ocf/history.ts";
import { type LotPolicy, proRata } from "../../src/evidence/ocf/lots.ts";
import type { LedgerStep, TouchedGrant } from "../../src/evidence/ocf/source.ts";
import { MOST_DATES, vestingOf } from "../../src/evidence/ocf/vesting.ts";
import type { Cause, ChangedPart } from "../../src/projections/balance-changes.ts";
import type { HolderEvent, HolderEventType } from "../../src/projections/holder-events.ts";
import type { TokenTimelock } from "../../src/projections/timelock-objects.ts";
import { claimableAt } from "../../src/projections/unlocking.ts";

const DAY = 86_400_000n;

type Moved = readonly [owner: string, change: bigint, cause: Cause, part?: ChangedPart];

/** A transaction of checkpoint `n`, on day `n` of 2025. */
const step = (
  n: bigint,
  moved: readonly Moved[],
  more: Partial<Pick<LedgerStep, "activity" | "register" | "grants">> = {},
): LedgerStep => ({
  checkpoint: n,
  timestampMs: 1_735_689_600_000n + n * DAY,
  txDigest: `digest${n}`,
  changes: moved.map(([owner, change, cause, part = "TOKENS"]) => ({
    owner,
    change,
    cause,
    coinType: "0x2::a::A",
    part,
    position: n * 1_000_000_000n,
    checkpoint: n,
    balanceAfter: 0n,
    txDigest: `digest${n}`,
    timestampMs: 0n,
  })),
  activity: [],
  isLast: true,
  register: [],
  grants: new Map(),
  ...more,
});

/** What a history says, a line for each transaction. */
const told = (steps: readonly LedgerStep[], lots: LotPolicy = "fifo"): readonly string[] => {
  const history = new OcfHistory({ digits: 0, lots });
  return steps.flatMap((one) =>
    [...history.transactions(one)].map((transaction) => {
      const security = transaction.security_id.replace("security-", "");
      switch (transaction.object_type) {
        case "TX_STOCK_ISSUANCE": {
          const vests = transaction.vestings?.map(({ date, amount }) => ` ${amount} on ${date}`);
          const terms = transaction.vesting_terms_id ? ` by ${transaction.vesting_terms_id}` : "";
          const to = transaction.stakeholder_id.replace("wallet-", "");
          const legends = transaction.stock_legend_ids.map((id) => ` ${id}`).join("");
          return `${security}: ${transaction.quantity} for ${to}${legends}${terms}${vests ?? ""}`;
        }
        case "TX_VESTING_START":
          return `${security} vests from ${transaction.date}`;
        case "TX_STOCK_REISSUANCE": {
          const into = transaction.resulting_security_ids.join().replaceAll("security-", "");
          return `${security} => ${into}, ${transaction.reason_text}`;
        }
        default: {
          const { quantity, balance_security_id } = transaction;
          const into = [
            ...("resulting_security_ids" in transaction ? transaction.resulting_security_ids : []),
            ...(balance_security_id ? [`rest ${balance_security_id}`] : []),
          ];
          const list = into.map((id) => id.replace("security-", "")).join(", ");
          return `${quantity} of ${security} -> ${list || "nothing"}`;
        }
      }
    }),
  );
};

const traded = [
  step(1n, [["a", 10n, "MINT"]]),
  step(2n, [["a", 20n, "MINT"]]),
  step(3n, [
    ["a", -16n, "TRANSFER"],
    ["b", 16n, "TRANSFER"],
  ]),
  step(4n, [["a", -14n, "BURN"]]),
  step(5n, [["b", -3n, "BURN"]]),
];

test("tokens leave the oldest security first, and tokens received together are one security", () => {
  expect(told(traded)).toEqual([
    "1: 10 for a",
    "2: 20 for a",
    "10 of 1 -> 3",
    "6 of 2 -> 3, rest 4",
    "3: 16 for b",
    "4: 14 for a",
    "14 of 4 -> nothing",
    "3 of 3 -> rest 5",
    "5: 13 for b",
  ]);
});

test("pro rata, tokens leave every security, and the unit left by rounding goes to the largest loser by it", () => {
  // 16 of 30: 5.33 of 10, 10.67 of 20.
  expect(told(traded, "pro-rata")).toEqual([
    "1: 10 for a",
    "2: 20 for a",
    "5 of 1 -> 3, rest 4",
    "11 of 2 -> 3, rest 5",
    "3: 16 for b",
    "4: 5 for a",
    "5: 9 for a",
    "5 of 4 -> nothing",
    "9 of 5 -> nothing",
    "3 of 3 -> rest 6",
    "6: 13 for b",
  ]);
});

test("a pro-rata split adds up, is within a unit of the exact one, and takes from no lot more than it has", () => {
  const quantity = fc.oneof(fc.bigInt(1n, 9n), fc.bigInt(1n, 2n ** 64n - 1n));
  fc.assert(
    fc.property(
      fc.array(quantity, { minLength: 1, maxLength: 12 }),
      fc.bigInt(0n, 10n ** 6n),
      (quantities, millionths) => {
        const all = quantities.reduce((sum, one) => sum + one, 0n);
        const amount = (all * millionths) / 10n ** 6n;
        const parts = proRata(quantities, amount);
        expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(amount);
        for (const [at, part] of parts.entries()) {
          const exact = (quantities[at] ?? 0n) * amount;
          expect(part >= 0n && part <= (quantities[at] ?? 0n)).toBe(true);
          expect(part * all > exact - all && part * all < exact + all).toBe(true);
        }
        expect(proRata(quantities, amount)).toEqual(parts);
      },
    ),
  );
});

const event = (
  address: string,
  eventType: HolderEventType,
  more: Partial<HolderEvent> = {},
): HolderEvent => ({
  address,
  eventType,
  coinType: "0x2::a::A",
  position: 0n,
  txDigest: "digest",
  holderId: null,
  groupId: null,
  isFrozen: null,
  timestampMs: 0n,
  eventSeq: 0,
  ...more,
});

test("securities carry the legends of their wallet, and are reissued when these change", () => {
  const joined = (groupId: bigint) => event("a", "address_joined_group", { groupId });
  const left = (groupId: bigint) => event("a", "address_left_group", { groupId });
  const lines = told([
    step(1n, [], { register: [joined(7n)] }),
    step(2n, [["a", 10n, "MINT"]]),
    step(3n, [["a", 5n, "MINT"]], {
      register: [event("a", "address_frozen", { isFrozen: true }), left(7n), joined(8n)],
    }),
    // Nothing has changed in the end.
    step(4n, [], { register: [left(8n), joined(8n)] }),
    step(
      5n,
      [
        ["a", -5n, "FORCE_TRANSFER"],
        ["b", 5n, "FORCE_TRANSFER"],
      ],
      { register: [event("a", "address_frozen", { isFrozen: false })] },
    ),
    step(6n, [], { register: [left(8n), event("a", "holder_address_added", { holderId: 1n })] }),
  ]);
  expect(lines).toEqual([
    "1: 10 for a legend-group-7",
    "2: 5 for a legend-frozen legend-group-8",
    "1 => 3, wallet frozen, wallet left group 7, wallet joined group 8",
    "3: 10 for a legend-frozen legend-group-8",
    // The oldest one is the one that was reissued.
    "5 of 3 -> 4, rest 5",
    "4: 5 for b",
    "5: 5 for a legend-group-8",
    "2 => 6, wallet no longer frozen",
    "6: 5 for a legend-group-8",
    "5 of 5 -> 7",
    "7: 5 for holder-1",
    "5 of 6 -> 8",
    "8: 5 for holder-1",
  ]);
});

test("a wallet that joins or leaves a holder takes its securities along by transfers", () => {
  const lines = told([
    step(1n, [["a", 10n, "MINT"]]),
    step(2n, [], { register: [event("a", "holder_address_added", { holderId: 3n })] }),
    step(3n, [], { register: [event("a", "holder_address_removed", { holderId: 3n })] }),
  ]);
  expect(lines).toEqual([
    "1: 10 for a",
    "10 of 1 -> 2",
    "2: 10 for holder-3",
    "10 of 2 -> 3",
    "3: 10 for a",
  ]);
});

const grant = (more: Partial<TokenTimelock> = {}): TokenTimelock => ({
  objectId: "g",
  owner: "b",
  funder: "a",
  releaseScheduleId: 0n,
  releaseCount: 5n,
  delayUntilFirstReleaseMs: 10n * DAY,
  periodBetweenReleasesMs: DAY,
  initialReleasePortionBps: 2_000n,
  commencementTimestampMs: 1_735_689_600_000n,
  totalAmount: 100n,
  tokensTransferred: 0n,
  leftBalance: 100n,
  ...more,
});

const touchedBy = (one: TokenTimelock, isNew: boolean): readonly [string, TouchedGrant] => [
  one.objectId,
  { grant: one, left: one.leftBalance, isNew, owners: [one.owner] },
];

const touched = (left: bigint, claimed: bigint, more: Partial<TokenTimelock> = {}) =>
  new Map([touchedBy(grant({ leftBalance: left, tokensTransferred: claimed, ...more }), false)]);

/** Days after the first of 2025. */
const days = (n: bigint) => 1_735_689_600_000n + n * DAY;

const funded = (lots: Partial<TokenTimelock> = {}) => [
  step(1n, [["a", 105n, "MINT"]]),
  step(
    2n,
    [
      ["a", -100n, "GRANT_FUNDED"],
      ["b", 100n, "GRANT_FUNDED", "GRANTS"],
    ],
    { grants: new Map([touchedBy(grant(lots), true)]) },
  ),
];

test("a grant vests by terms while it is whole, and by dates once a part is claimed or cancelled", () => {
  const begun = { commencementTimestampMs: days(2n) };
  const lines = told([
    ...funded(begun),
    // Twenty at first, and ten of the next twenty.
    step(
      13n,
      [
        ["b", 30n, "GRANT_CLAIMED"],
        ["b", -30n, "GRANT_CLAIMED", "GRANTS"],
      ],
      { grants: touched(70n, 30n, begun) },
    ),
    step(
      14n,
      [
        ["a", 30n, "GRANT_CANCELLED"],
        ["b", -30n, "GRANT_CANCELLED", "GRANTS"],
      ],
      { grants: touched(40n, 30n, begun) },
    ),
  ]);
  expect(lines.slice(1)).toEqual([
    "100 of 1 -> 2, rest 3",
    "2: 100 for b by vesting-10-2000-4-1",
    "3: 5 for a",
    "2 vests from 2025-01-03",
    "30 of 2 -> 4, rest 5",
    "4: 30 for b",
    "5: 70 for b 10 on 2025-01-14, 20 on 2025-01-15, 20 on 2025-01-16, 20 on 2025-01-17",
    "30 of 5 -> 6, rest 7",
    "6: 30 for a",
    // What was unlocked before stands on the day of issue.
    "7: 40 for b 30 on 2025-01-15, 10 on 2025-01-16",
  ]);
});

test("what a grant had unlocked at funding vests on the day of issue, not earlier", () => {
  const begun = funded({ commencementTimestampMs: days(2n) - 12n * DAY });
  expect(told(begun).slice(2, 3)).toEqual([
    "2: 100 for b 60 on 2025-01-03, 20 on 2025-01-04, 20 on 2025-01-05",
  ]);
  const later = funded({ commencementTimestampMs: days(3n), releaseCount: 1n });
  expect(told(later).slice(2, 3)).toEqual(["2: 100 for b 100 on 2025-01-14"]);
});

test("grants funded together are one security each, whichever lots they come from", () => {
  const other = { ...grant({ totalAmount: 5n, leftBalance: 5n }), objectId: "h" };
  const lines = told([
    step(1n, [["a", 60n, "MINT"]]),
    step(1n, [["a", 45n, "MINT"]]),
    step(
      2n,
      [
        ["a", -105n, "GRANT_FUNDED"],
        ["b", 105n, "GRANT_FUNDED", "GRANTS"],
      ],
      { grants: new Map([touchedBy(grant(), true), touchedBy(other, true)]) },
    ),
  ]);
  expect(lines.slice(2).map((line) => line.split(" 20 on")[0])).toEqual([
    "60 of 1 -> 3",
    "40 of 2 -> 3, rest 4",
    "3: 100 for b",
    "4: 5 for a",
    "5 of 4 -> 5",
    "5: 5 for b 1 on 2025-01-11, 1 on 2025-01-12, 1 on 2025-01-13, 1 on 2025-01-14, 1 on 2025-01-15",
  ]);
});

test("a grant that changes hands keeps vesting, even if its new owner gets another one", () => {
  const other = { ...grant({ totalAmount: 5n, leftBalance: 5n }), objectId: "h", owner: "c" };
  const lines = told([
    ...funded({ releaseCount: 1n }),
    step(
      3n,
      [
        ["a", -5n, "GRANT_FUNDED"],
        ["b", -100n, "UNKNOWN", "GRANTS"],
        ["c", 105n, "UNKNOWN", "GRANTS"],
      ],
      { grants: new Map([touchedBy(other, true)]) },
    ),
  ]);
  expect(lines.slice(4)).toEqual([
    "100 of 2 -> 4",
    "4: 100 for c 100 on 2025-01-11",
    "5 of 3 -> 5",
    "5: 5 for c 1 on 2025-01-11, 1 on 2025-01-12, 1 on 2025-01-13, 1 on 2025-01-14, 1 on 2025-01-15",
  ]);
});

test("a grant replaced in one transaction is a reissuance that vests by its schedule", () => {
  const other = {
    ...grant({ releaseCount: 1n, totalAmount: 70n, leftBalance: 70n }),
    objectId: "h",
  };
  const lines = told([
    ...funded(),
    {
      ...step(3n, []),
      txDigest: null,
      grants: new Map([...touched(30n, 0n), touchedBy(other, true)]),
    },
  ]);
  expect(lines.slice(4)).toEqual([
    "2 => 4,5, grants of the wallet changed",
    "4: 30 for b 20 on 2025-01-11, 10 on 2025-01-12",
    "5: 70 for b 70 on 2025-01-11",
  ]);
});

test("an unusual schedule never vests early, whatever its numbers, and vests fully in the end", () => {
  const largest = 2n ** 64n - 1n;
  for (const more of [
    { releaseCount: largest, totalAmount: largest },
    { releaseCount: 8_000n, totalAmount: largest },
    { commencementTimestampMs: largest },
    { periodBetweenReleasesMs: largest },
    { delayUntilFirstReleaseMs: largest },
    { initialReleasePortionBps: largest },
  ]) {
    const one = grant({ ...more });
    const vesting = vestingOf({ grant: one, from: 1n, to: one.totalAmount }, days(2n), 1n);
    if (!("dates" in vesting)) throw new Error("vests by terms");
    expect(vesting.dates.length).toBeLessThanOrEqual(MOST_DATES);
    let sum = 1n;
    for (const { date, amount } of vesting.dates) {
      sum += amount;
      expect(date >= "2025-01-03" && date <= "9999-12-31").toBe(true);
      if (date === "9999-12-31") continue;
      const dayEnd = BigInt(Date.parse(date)) + DAY - 1n;
      const state = { ...one, leftBalance: one.totalAmount };
      expect(sum <= claimableAt(state, dayEnd)).toBe(true);
    }
    expect(sum).toBe(one.totalAmount);
  }
});

test("mints and burns of one transaction stay as they are, and nothing is created or lost on the way", () => {
  const tokens = { part: "TOKENS" } as const;
  const flows = flowsOf(
    [
      { owner: "a", ...tokens, cause: "MINT", change: 10n },
      { owner: "b", ...tokens, cause: "BURN", change: -10n },
      { owner: "c", ...tokens, cause: "TRANSFER", change: -4n },
      { owner: "d", ...tokens, cause: "TRANSFER", change: 4n },
    ],
    [
      { activityType: "mint", fromAddress: null, toAddress: "a", amount: 10n },
      { activityType: "burn", fromAddress: "b", toAddress: null, amount: 10n },
      // On its way through x, which keeps nothing.
      { activityType: "transfer", fromAddress: "c", toAddress: "x", amount: 4n },
      { activityType: "transfer", fromAddress: "x", toAddress: "d", amount: 4n },
    ],
  );
  expect(flows).toMatchObject([
    { to: { wallet: "a" }, amount: 10n },
    { from: { wallet: "b" }, amount: 10n },
    { from: { wallet: "c" }, to: { wallet: "d" }, amount: 4n },
  ]);
});

test("movements between wallets are transfers: no flow makes or destroys more than was minted or burned", () => {
  const wallet = fc.constantFrom("a", "b", "c", "d");
  const amount = fc.bigInt(1n, 9n);
  const nothing = { fromAddress: null, toAddress: null };
  const act = fc.oneof(
    fc.tuple(wallet, wallet, amount).map(([fromAddress, toAddress, amount]) => {
      return { activityType: "transfer" as const, fromAddress, toAddress, amount };
    }),
    fc.tuple(wallet, amount).map(([toAddress, amount]) => {
      return { ...nothing, activityType: "mint" as const, toAddress, amount };
    }),
    fc.tuple(wallet, amount).map(([fromAddress, amount]) => {
      return { ...nothing, activityType: "burn" as const, fromAddress, amount };
    }),
  );
  const sumOf = (all: readonly { readonly amount: bigint }[]) =>
    all.reduce((sum, one) => sum + one.amount, 0n);
  fc.assert(
    fc.property(fc.array(act, { maxLength: 8 }), (activity) => {
      const nets = new Map<string, bigint>();
      for (const { fromAddress, toAddress, amount } of activity) {
        if (fromAddress) nets.set(fromAddress, (nets.get(fromAddress) ?? 0n) - amount);
        if (toAddress) nets.set(toAddress, (nets.get(toAddress) ?? 0n) + amount);
      }
      const changes = [...nets]
        .filter(([, change]) => change !== 0n)
        .map(([owner, change]) => {
          return { owner, change, part: "TOKENS" as const, cause: "TRANSFER" as const };
        });
      const flows = flowsOf(changes, activity);
      for (const { owner, change } of changes) {
        const into = sumOf(flows.filter(({ to }) => to?.wallet === owner));
        const out = sumOf(flows.filter(({ from }) => from?.wallet === owner));
        expect(into - out).toBe(change);
        expect(into === 0n || out === 0n).toBe(true);
      }
      const [minted, burned] = ["mint", "burn"].map((type) =>
        sumOf(activity.filter(({ activityType }) => activityType === type)),
      );
      expect(sumOf(flows.filter(({ from }) => !from)) <= (minted ?? 0n)).toBe(true);
      expect(sumOf(flows.filter(({ to }) => !to)) <= (burned ?? 0n)).toBe(true);
    }),
  );
});

test("a forced transfer is marked as such in its comments", () => {
  const history = new OcfHistory({ digits: 0, lots: "fifo" });
  const forced = step(2n, [
    ["a", -4n, "FORCE_TRANSFER"],
    ["b", 4n, "FORCE_TRANSFER"],
  ]);
  const said = [step(1n, [["a", 9n, "MINT"]]), forced]
    .flatMap((one) => [...history.transactions(one)])
    .filter(({ comments }) => comments?.join().includes("without its owner's consent"));
  expect(said.map(({ object_type }) => object_type)).toEqual([
    "TX_STOCK_TRANSFER",
    "TX_STOCK_ISSUANCE",
    "TX_STOCK_ISSUANCE",
  ]);
});
