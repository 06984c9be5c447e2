/** Fundings find their transfers, whatever else the transaction moves. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Address } from "../../src/evm/contract/fact.ts";
import type { Generation } from "../../src/evm/contract/generations.ts";
import { type Funding, joinFundings, type Leg } from "../../src/evm/movements/vesting-join.ts";

const wallet = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
const holder = wallet(0xffff);

/** One funding as its generation logs it: its legs, gaps for other events, then the funding. */
type Entry = {
  readonly from: number;
  readonly to: number;
  readonly amount: bigint;
  /** Part that the funder takes from its own grants. */
  readonly unlocked: bigint;
  readonly gap: number;
};

const entry: fc.Arbitrary<Entry> = fc
  .record({
    from: fc.integer({ min: 1, max: 3 }),
    to: fc.integer({ min: 1, max: 4 }),
    // Few amounts, so that equal ones meet.
    amount: fc.bigInt({ min: 1n, max: 4n }),
    share: fc.integer({ min: 0, max: 4 }),
    gap: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ share, ...rest }) => ({ ...rest, unlocked: (rest.amount * BigInt(share)) / 4n }));

type Legs = (entry: Entry) => readonly {
  readonly from: Address;
  readonly to: Address;
  readonly amount: bigint;
  readonly vests: boolean;
}[];

const leg = (from: Address, to: Address, amount: bigint, vests: boolean) => ({
  from,
  to,
  amount,
  vests,
});

const nonZero = (legs: ReturnType<Legs>) => legs.filter(({ amount }) => amount > 0n);

const generations: readonly [name: string, vestingLeg: Generation["vestingLeg"], legs: Legs][] = [
  [
    "version 2, where the inbound leg may come in two parts",
    "holder",
    ({ from, amount, unlocked }) =>
      nonZero([
        leg(holder, holder, unlocked, true),
        leg(wallet(from), holder, amount - unlocked, true),
      ]),
  ],
  [
    "version 3, whose pair may have a split first leg",
    "pair",
    ({ from, to, amount, unlocked }) => [
      ...nonZero([
        leg(wallet(from), holder, unlocked, false),
        leg(holder, holder, unlocked, false),
        leg(wallet(from), holder, amount - unlocked, false),
      ]),
      leg(holder, wallet(to), amount, true),
    ],
  ],
  [
    "an early build of version 3, which logs the first leg alone",
    "pair",
    ({ from, amount }) => [leg(wallet(from), holder, amount, true)],
  ],
  [
    "version 5, and its vesting mints",
    "recipient",
    ({ from, to, amount }) => [leg(wallet(from === 3 ? 0 : from), wallet(to), amount, true)],
  ],
];

for (const [name, vestingLeg, legsOf] of generations) {
  test(`every funding of a batch finds its own legs: ${name}`, () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 12 }), (entries) => {
        const legs: Leg[] = [];
        const expected = new Map<Funding, number[]>();
        let logIndex = 3;
        for (const each of entries) {
          const carriers: number[] = [];
          for (const { vests, ...one } of legsOf(each)) {
            logIndex += 1 + each.gap;
            legs.push({ ...one, logIndex });
            if (vests) carriers.push(logIndex);
          }
          logIndex += 1 + each.gap;
          expected.set({ logIndex, to: wallet(each.to), amount: each.amount }, carriers);
        }
        const fundings = [...expected.keys()];
        expect(joinFundings(legs, fundings, vestingLeg, holder)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
}

test("a transfer to the same recipient in the same transaction is not mistaken for the funding", () => {
  const funding = { logIndex: 9, to: wallet(1), amount: 50n };
  const legs = [
    { logIndex: 1, from: wallet(2), to: wallet(1), amount: 50n },
    { logIndex: 4, from: wallet(2), to: wallet(1), amount: 50n },
    { logIndex: 6, from: wallet(2), to: wallet(1), amount: 7n },
    { logIndex: 7, from: wallet(2), to: wallet(3), amount: 50n },
    { logIndex: 12, from: wallet(2), to: wallet(1), amount: 50n },
  ];
  expect(joinFundings(legs, [funding], "recipient", holder).get(funding)).toEqual([4]);
});

test("a funding without a carrier stays without legs, and takes none from others", () => {
  const first = { logIndex: 2, to: wallet(1), amount: 50n };
  const second = { logIndex: 5, to: wallet(1), amount: 20n };
  const legs = [
    { logIndex: 1, from: wallet(2), to: wallet(1), amount: 20n },
    { logIndex: 4, from: wallet(2), to: wallet(1), amount: 20n },
  ];
  const joined = joinFundings(legs, [first, second], "recipient", holder);
  expect(joined.get(first)).toEqual([]);
  expect(joined.get(second)).toEqual([4]);
});

test("parts that exceed the funding are not its parts", () => {
  const funding = { logIndex: 9, to: wallet(1), amount: 50n };
  const legs = [
    { logIndex: 1, from: wallet(2), to: holder, amount: 40n },
    { logIndex: 2, from: wallet(2), to: holder, amount: 30n },
  ];
  expect(joinFundings(legs, [funding], "holder", holder).get(funding)).toEqual([]);
});
