/** The shareholders of Acme Robotics, a company that does not exist, and when they come and go. */

export type Kind = "founder" | "fund" | "angel" | "advisor" | "employee";

export type Person = {
  /** In every register of the company. */
  readonly holderId: bigint;
  readonly name: string;
  readonly kind: Kind;
  /** Day of the first registration, counted from the founding. */
  readonly joins: number;
  /** Whole options granted on that day. */
  readonly options?: bigint;
  /** Whole common shares bought or received at the start. */
  readonly common?: bigint;
  /** US dollars paid in the two rounds. */
  readonly seed?: bigint;
  readonly seriesA?: bigint;
  /** Wallets at the start: a trading wallet, then custody; 1 where absent. */
  readonly wallets?: number;
};

/** Days of the company's events, from its founding at day 0. */
export const SEED_DAY = 96;
export const SERIES_A_DAY = 362;
/** Shares of a round may not be sold for so many days. */
export const LOCKUP_DAYS = 180;

const people: readonly Omit<Person, "holderId">[] = [
  { name: "Ingrid Solheim", kind: "founder", joins: 1, common: 3_200_000n, seed: 45_000n },
  { name: "Marcus Adeyemi", kind: "founder", joins: 1, common: 2_600_000n, wallets: 2 },
  { name: "Lena Kowalczyk", kind: "founder", joins: 1, common: 1_800_000n },
  {
    ...{ name: "Northlight Seed Fund II", kind: "fund", joins: 82, wallets: 2 },
    ...{ seed: 900_000n, seriesA: 800_000n },
  },
  { name: "Harbour & Finch Ventures", kind: "fund", joins: 84, seed: 500_000n, wallets: 2 },
  { name: "Lumen Angel Syndicate", kind: "fund", joins: 90, seed: 250_000n },
  {
    ...{ name: "Alder Family Office", kind: "fund", joins: 91 },
    ...{ seed: 300_000n, seriesA: 250_000n },
  },
  { name: "Blue Kestrel Growth III", kind: "fund", joins: 338, seriesA: 4_000_000n, wallets: 3 },
  { name: "Meridian Pension Trust", kind: "fund", joins: 341, seriesA: 2_500_000n, wallets: 2 },
  { name: "Tidewater Industrial Partners", kind: "fund", joins: 347, seriesA: 1_500_000n },
  { name: "Sable Ridge Capital", kind: "fund", joins: 352, seriesA: 1_200_000n, wallets: 2 },
  { name: "Henrik Aasen", kind: "angel", joins: 14, common: 60_000n, seed: 75_000n },
  { name: "Priya Raman", kind: "angel", joins: 15, common: 40_000n, seed: 60_000n },
  { name: "Thomas Okafor", kind: "angel", joins: 15, common: 35_000n, seed: 50_000n },
  { name: "Claire Dubois", kind: "angel", joins: 22, common: 25_000n, seed: 40_000n },
  { name: "Jonas Weber", kind: "angel", joins: 26, common: 30_000n, seed: 50_000n },
  { name: "Mei-Lin Chang", kind: "angel", joins: 33, common: 20_000n, seed: 35_000n },
  { name: "Sofia Lindqvist", kind: "angel", joins: 520 },
  { name: "Daniel Haas", kind: "advisor", joins: 20, options: 30_000n, common: 5_000n },
  { name: "Rachel Stein", kind: "advisor", joins: 28, options: 25_000n, common: 5_000n },
  { name: "Yusuf Demir", kind: "advisor", joins: 210, options: 20_000n },
  { name: "Amara Nwosu", kind: "employee", joins: 8, options: 160_000n },
  { name: "Bjorn Halvorsen", kind: "employee", joins: 12, options: 140_000n },
  { name: "Chiara Rossi", kind: "employee", joins: 31, options: 110_000n },
  { name: "David Lindgren", kind: "employee", joins: 45, options: 90_000n },
  { name: "Elif Kaya", kind: "employee", joins: 59, options: 80_000n },
  { name: "Farid Rahimi", kind: "employee", joins: 77, options: 75_000n },
  { name: "Grace Mbeki", kind: "employee", joins: 108, options: 60_000n },
  { name: "Hana Sato", kind: "employee", joins: 122, options: 60_000n },
  { name: "Ivan Petrov", kind: "employee", joins: 150, options: 45_000n },
  { name: "Julia Santos", kind: "employee", joins: 171, options: 45_000n },
  { name: "Karim Haddad", kind: "employee", joins: 199, options: 40_000n },
  { name: "Laura Jensen", kind: "employee", joins: 240, options: 35_000n },
  { name: "Miguel Torres", kind: "employee", joins: 275, options: 35_000n },
  { name: "Nora Berg", kind: "employee", joins: 318, options: 30_000n },
  { name: "Oscar Lund", kind: "employee", joins: 395, options: 40_000n },
  { name: "Paula Novak", kind: "employee", joins: 424, options: 35_000n },
  { name: "Ravi Menon", kind: "employee", joins: 468, options: 30_000n },
  { name: "Sarah Klein", kind: "employee", joins: 541, options: 25_000n },
  { name: "Tomas Varga", kind: "employee", joins: 616, options: 25_000n },
];

/** Frozen at the end of the two years, and until further notice. */
export const STILL_FROZEN = ["Tidewater Industrial Partners", "Mei-Lin Chang"];

/** In the order of their holder ids, from 1; the company itself is holder 0. */
export const CAST: readonly Person[] = people.map((person, index) => ({
  ...person,
  holderId: BigInt(index + 1),
}));

/** @throws Error for a name that is not in the cast */
export const personNamed = (name: string): Person => {
  const found = CAST.find((person) => person.name === name);
  if (found === undefined) throw new Error(`${name} is not in the cast`);
  return found;
};
