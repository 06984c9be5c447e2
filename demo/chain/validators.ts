/** The committee of an epoch, and its successor. */
import { between, type Dice, diceFrom, roll } from "../random.ts";
import { blsPublicKey } from "../wire/bls.ts";
import type { Validator } from "../wire/certificate.ts";
import { hash } from "../wire/digest.ts";

/** Stakes of the first committee: 10,000 in all. */
const FIRST_STAKES = [2_300n, 1_900n, 1_600n, 1_400n, 1_200n, 900n, 700n];
/** Stake moved at an epoch's end, and the minimum that stays. */
const MOVES = [20, 200] as const;
const LEAST = 300n;
/** Every n-th epoch replaces a member. */
const EXCHANGE_EVERY = 3n;
export const firstCommittee = (seed: string): readonly Validator[] =>
  inOrder(FIRST_STAKES.map((stake, n) => ({ ...keysOf(`${seed}/validator/${n}`), stake })));

/** The next committee: some stake moves, and sometimes a member is replaced. */
export const nextCommittee = (
  epoch: bigint,
  committee: readonly Validator[],
): readonly Validator[] => {
  const name = `${epoch}/${committee.map(({ secret }) => secret).join("/")}`;
  const dice = diceFrom(name);
  const next = [...committee];
  const [from, to] = twoOf(dice, next);
  const moved = BigInt(between(dice, ...MOVES));
  if (from.stake - moved >= LEAST) {
    next[next.indexOf(from)] = { ...from, stake: from.stake - moved };
    next[next.indexOf(to)] = { ...to, stake: to.stake + moved };
  }
  if (epoch % EXCHANGE_EVERY === EXCHANGE_EVERY - 1n) {
    const [leaves] = twoOf(dice, next);
    next[next.indexOf(leaves)] = { ...keysOf(`${name}/validator`), stake: leaves.stake };
  }
  return inOrder(next);
};

const twoOf = (dice: Dice, members: readonly Validator[]): readonly [Validator, Validator] => {
  const first = roll(dice, members.length);
  const other = (first + 1 + roll(dice, members.length - 1)) % members.length;
  const [one, two] = [members[first], members[other]];
  if (one === undefined || two === undefined) throw new RangeError("a committee has two members");
  return [one, two];
};

/** Secrets of 32 bits sign a third faster than of 255; the seed reveals them anyway. */
const keysOf = (name: string) => {
  const secret = BigInt(Buffer.from(hash(Buffer.from(name))).readUInt32BE()) + 1n;
  return { secret, publicKey: blsPublicKey(secret) };
};

/** Order of certificates. */
const inOrder = (members: readonly Validator[]): readonly Validator[] =>
  members.toSorted((a, b) => Buffer.compare(a.publicKey, b.publicKey));
