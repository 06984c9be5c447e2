import { expect, test } from "vitest";
import { flowsOf } from "../../src/audit/ocf-flows.ts";
import { OcfHistory } from "../../src/audit/ocf-history.ts";
import type { LedgerStep, TouchedGrant } from "../../src/audit/ocf-source.ts";
import { vestingOf } from "../../src/audit/ocf-vesting.ts";
import type { Cause, ChangedPart } from "../../src/projections/balance-changes.ts";
import type { TokenTimelock } from "../../src/projections/timelock-objects.ts";

const DAY = 86_400_000n;

type Moved = readonly [owner: string, change: bigint, cause: Cause, part?: ChangedPart];

/** A transaction of checkpoint `n`, on day `n` of 2025. */
const step = (
  n: bigint,
  moved: readonly Moved[],
  more: Partial<Pick<LedgerStep, "activity" | "grants">> = {},
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
  memberships: [],
  grants: new Map(),
  ...more,
});

/** What a history says, a line for each transaction. */
const told = (steps: readonly LedgerStep[]): readonly string[] => {
  const history = new OcfHistory(String);
  return steps.flatMap((one) =>
    history.transactions(one).map((transaction) => {
      const security = transaction.security_id.replace("security-", "");
      switch (transaction.object_type) {
        case "TX_STOCK_ISSUANCE": {
          const vests = transaction.vestings?.map(({ date, amount }) => ` ${amount} on ${date}`);
          const terms = transaction.vesting_terms_id ? ` by ${transaction.vesting_terms_id}` : "";
          const to = transaction.stakeholder_id.replace("wallet-", "");
          return `${security}: ${transaction.quantity} for ${to}${terms}${vests ?? ""}`;
        }
        case "TX_VESTING_START":
          return `${security} vests from ${transaction.date}`;
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

test("tokens leave from the oldest security, and what remains of one keeps its place", () => {
  const lines = told([
    step(1n, [["a", 10n, "MINT"]]),
    step(2n, [["a", 20n, "MINT"]]),
    step(3n, [
      ["a", -15n, "TRANSFER"],
      ["b", 15n, "TRANSFER"],
    ]),
    step(4n, [["a", -15n, "BURN"]]),
    step(5n, [["b", -3n, "BURN"]]),
  ]);
  expect(lines).toEqual([
    "1: 10 for a",
    "2: 20 for a",
    "10 of 1 -> 3",
    "3: 10 for b",
    "5 of 2 -> 4, rest 5",
    "4: 5 for b",
    "5: 15 for a",
    "15 of 5 -> nothing",
    "3 of 3 -> rest 6",
    "6: 7 for b",
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

const touched = (left: bigint, isNew: boolean): ReadonlyMap<string, TouchedGrant> =>
  new Map([["g", { grant: grant({ leftBalance: left }), left, isNew }]]);

test("a grant vests by terms while it is whole, and by dates once a part is claimed or cancelled", () => {
  const lines = told([
    step(1n, [["a", 100n, "MINT"]]),
    step(
      2n,
      [
        ["a", -100n, "GRANT_FUNDED"],
        ["b", 100n, "GRANT_FUNDED", "GRANTS"],
      ],
      { grants: touched(100n, true) },
    ),
    // Twenty at first, and ten of the next twenty.
    step(
      11n,
      [
        ["b", 30n, "GRANT_CLAIMED"],
        ["b", -30n, "GRANT_CLAIMED", "GRANTS"],
      ],
      { grants: touched(70n, false) },
    ),
    step(
      12n,
      [
        ["a", 50n, "GRANT_CANCELLED"],
        ["b", -50n, "GRANT_CANCELLED", "GRANTS"],
      ],
      { grants: touched(20n, false) },
    ),
  ]);
  expect(lines).toEqual([
    "1: 100 for a",
    "100 of 1 -> 2",
    "2: 100 for b by vesting-10-2000-4-1",
    "2 vests from 2025-01-01",
    "30 of 2 -> 3, rest 4",
    "3: 30 for b",
    "4: 70 for b 10 on 2025-01-12, 20 on 2025-01-13, 20 on 2025-01-14, 20 on 2025-01-15",
    "50 of 4 -> 5, rest 6",
    "5: 50 for a",
    "6: 20 for b 10 on 2025-01-12, 10 on 2025-01-13",
  ]);
});

test("a grant that changes hands while its new owner is given another one vests as no more than it is", () => {
  const other = { ...grant({ totalAmount: 5n, leftBalance: 5n }), objectId: "h", owner: "c" };
  const lines = told([
    step(1n, [["a", 105n, "MINT"]]),
    step(
      2n,
      [
        ["a", -100n, "GRANT_FUNDED"],
        ["b", 100n, "GRANT_FUNDED", "GRANTS"],
      ],
      { grants: touched(100n, true) },
    ),
    step(
      3n,
      [
        ["a", -5n, "GRANT_FUNDED"],
        ["b", -100n, "UNKNOWN", "GRANTS"],
        ["c", 105n, "UNKNOWN", "GRANTS"],
      ],
      { grants: new Map([["h", { grant: other, left: 5n, isNew: true }]]) },
    ),
  ]);
  // Which part of the first grant the 95 are is not known, so that no vesting is given for them.
  expect(lines.slice(5)).toEqual([
    "100 of 2 -> 4, 5",
    "4: 5 for c by vesting-10-2000-4-1",
    "5: 95 for c",
    "4 vests from 2025-01-01",
    "5 of 3 -> 6",
    "6: 5 for c",
  ]);
});

test("a schedule that does not fit is said not to, whatever its numbers", () => {
  const largest = 2n ** 64n - 1n;
  for (const more of [
    { releaseCount: largest },
    { commencementTimestampMs: largest },
    { periodBetweenReleasesMs: largest },
    { delayUntilFirstReleaseMs: largest },
  ]) {
    const part = { grant: grant({ ...more }), from: 1n, to: 100n };
    expect(vestingOf(part, largest)).toHaveProperty("unfit");
  }
});

test("mints and burns of one transaction stay what they are, and nothing is made or lost on the way", () => {
  const tokens = { part: "TOKENS" } as const;
  const flows = flowsOf(
    [
      { owner: "a", ...tokens, cause: "MINT", change: 10n },
      { owner: "b", ...tokens, cause: "BURN", change: -10n },
      { owner: "c", ...tokens, cause: "TRANSFER", change: -4n },
      { owner: "d", ...tokens, cause: "TRANSFER", change: 4n },
    ],
    [
      { fromAddress: null, toAddress: "a", amount: 10n },
      { fromAddress: "b", toAddress: null, amount: 10n },
      // On its way through x, which keeps nothing.
      { fromAddress: "c", toAddress: "x", amount: 4n },
      { fromAddress: "x", toAddress: "d", amount: 4n },
    ],
  );
  expect(flows).toMatchObject([
    { to: { wallet: "a" }, amount: 10n },
    { from: { wallet: "b" }, amount: 10n },
    { from: { wallet: "c" }, to: { wallet: "d" }, amount: 4n },
  ]);
});
