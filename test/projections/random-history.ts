/** Random histories of two tokens: few owners and objects, so that everything meets everything. */
import fc from "fast-check";
import { SHARED_TOKEN, TIMELOCK } from "../../src/ledger/contract/names.ts";
import * as say from "../pipelines/token-facts.ts";
import { ACME, address, BETA, type Said, type SaidCheckpoint } from "../pipelines/token-facts.ts";

export const COINS = [ACME, BETA] as const;
export const OWNERS = ["a1", "b2", "c3"].map(address);
export const FOREIGN = address("f0");

/** Even objects are of the first coin, odd ones of the second: an object's type never changes. */
const coinOf = (object: number) => COINS[object % 2] ?? ACME;
const tokenId = (object: number) => address(`70${object}`);
const grantId = (object: number) => address(`90${object}`);

const coin = fc.constantFrom(...COINS);
const owner = fc.constantFrom(...OWNERS);
const object = fc.nat(5);
/** Zero, small ones that meet, and the largest there is: sums go beyond 64 bits. */
const amount = fc.oneof(fc.constantFrom(0n, 2n ** 64n - 1n), fc.bigInt({ min: 0n, max: 9n }));
/** Small ones come again, and the largest there are come at all. */
const number = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);
const role = fc
  .tuple(fc.constantFrom(say.PACKAGE, FOREIGN), fc.constantFrom("ContractAdmin", "Other"))
  .map(([home, name]) => `${home.slice(2)}::roles::${name}`);

const said: fc.Arbitrary<Said> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(object, owner, amount)
      .map(([n, owner, balance]) => say.token({ id: tokenId(n), owner, balance }, coinOf(n))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(object, owner, amount, fc.bigInt({ min: 0n, max: 3n }))
      .map(([n, owner, leftBalance, commencementTimestampMs]) =>
        say.grant({ id: grantId(n), owner, leftBalance, commencementTimestampMs }, coinOf(n)),
      ),
  },
  { weight: 2, arbitrary: object.map((n) => say.removed(SHARED_TOKEN, tokenId(n), coinOf(n))) },
  { weight: 1, arbitrary: object.map((n) => say.removed(TIMELOCK, grantId(n), coinOf(n))) },
  fc
    .tuple(owner, amount, coin)
    .map(([to, amount, coin]) => say.minted({ tokenId: tokenId(0), to, amount }, coin)),
  fc
    .tuple(owner, amount, coin)
    .map(([from, amount, coin]) => say.burned({ tokenId: tokenId(1), from, amount }, coin)),
  fc
    .tuple(owner, owner, amount, coin)
    .map(([from, to, amount, coin]) =>
      say.transferred({ tokenId: tokenId(2), from, to, amount }, coin),
    ),
  fc
    .tuple(number, owner, coin)
    .map(([holderId, addr, coin]) => say.addressAdded({ holderId, addr }, coin)),
  fc
    .tuple(number, owner, coin)
    .map(([holderId, addr, coin]) => say.addressRemoved({ holderId, addr }, coin)),
  fc
    .tuple(owner, number, coin)
    .map(([addr, groupId, coin]) => say.joinedGroup({ addr, groupId }, coin)),
  fc
    .tuple(owner, number, coin)
    .map(([addr, groupId, coin]) => say.leftGroup({ addr, groupId }, coin)),
  fc
    .tuple(owner, fc.boolean(), coin)
    .map(([addr, isFrozen, coin]) => say.frozen({ addr, isFrozen }, coin)),
  {
    weight: 2,
    arbitrary: fc
      .tuple(owner, role, fc.boolean(), coin)
      .map(([owner, role, granted, coin]) => say.roleChanged({ owner, role, granted }, coin)),
  },
);

/** What one transaction says: each object at most once, as on the ledger. */
const transaction = fc.uniqueArray(said, {
  maxLength: 5,
  comparator: (a, b) => a.kind !== "event" && b.kind !== "event" && a.objectId === b.objectId,
});

/** Consecutive checkpoints from 0; time mostly goes on, and sometimes steps back. */
export const history: fc.Arbitrary<readonly SaidCheckpoint[]> = fc
  .array(
    fc.record({
      elapsedMs: fc.integer({ min: -1_500, max: 2_500 }),
      transactions: fc.array(transaction, { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((checkpoints) => {
    let timestampMs = 1_700_000_000_000n;
    return checkpoints.map(({ elapsedMs, transactions }, sequence) => {
      timestampMs += BigInt(elapsedMs);
      return { sequence: BigInt(sequence), timestampMs, transactions };
    });
  });

/** How a history of up to 14 checkpoints is cut into batches: true where a batch ends. */
export const cuts = fc.array(fc.boolean(), { minLength: 14, maxLength: 14 });

/** The history in batches. */
export const cut = (
  checkpoints: readonly SaidCheckpoint[],
  ends: readonly boolean[],
): readonly (readonly SaidCheckpoint[])[] => {
  const batches: SaidCheckpoint[][] = [[]];
  checkpoints.forEach((checkpoint, index) => {
    batches.at(-1)?.push(checkpoint);
    if (ends[index] && index < checkpoints.length - 1) batches.push([]);
  });
  return batches;
};
