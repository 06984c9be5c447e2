/** The company's two years: what happens on which day, counted from the founding. */
import { roleType } from "../contract/securities.ts";
import { transferToOutsider, whitelistHalfWay } from "../issuer/failures.ts";
import { lookAlike } from "../issuer/foreign.ts";
import { staffOf } from "../issuer/people.ts";
import { account, type Stage, transact, transactAll } from "../issuer/stage.ts";
import { CAST, LOCKUP_DAYS, type Person, personNamed, SEED_DAY, SERIES_A_DAY } from "./cast.ts";
import {
  appoint,
  appointOf,
  bought,
  cancelGrants,
  claimVested,
  coinNamed,
  convert,
  enroll,
  freeze,
  GROUPS,
  grantOptions,
  issue,
  merge,
  move,
  moveByForce,
  pool,
  regroup,
  strikeOff,
  tokensOf,
  treasury,
  units,
  walletOf,
  walletsIn,
} from "./desk.ts";
import { ALL } from "./founding.ts";
import { COMMON, OPTIONS, PREFERRED } from "./tokens.ts";

type Entry = { readonly day: number; readonly act: (stage: Stage) => void };

const on = (day: number, act: (stage: Stage) => void): Entry => ({ day, act });

/** Price of a preferred share, in 1/10,000 dollar. */
const SEED_PRICE = 12_473n;
const SERIES_A_PRICE = 34_118n;

/** Joins the company: registered where it will hold something, with shares and options. */
const joins = (person: Person): readonly Entry[] => {
  const { kind, joins: day, options, common } = person;
  if (kind === "founder") return [];
  return [
    on(day, (stage) => {
      if (kind === "employee" || kind === "advisor") enroll(stage, OPTIONS, person);
      if (kind === "angel") enroll(stage, COMMON, person);
      if (kind === "fund") enroll(stage, PREFERRED, person);
    }),
    on(day + 3, (stage) => {
      if (options !== undefined) grantOptions(stage, person, { whole: options, day });
      if (common === undefined) return;
      enroll(stage, COMMON, person);
      move(stage, COMMON, treasury(stage), walletOf(stage, person), units(stage, COMMON, common));
    }),
  ];
};

/** A round: its investors are registered first; at the closing all shares are minted at once. */
const round = (day: number, price: bigint, paid: "seed" | "seriesA"): readonly Entry[] => {
  const investors = CAST.filter((person) => person[paid] !== undefined);
  const close = (stage: Stage, people: readonly Person[]) => {
    issue(
      stage,
      PREFERRED,
      people.map((person) => ({
        to: walletOf(stage, person),
        amount: bought(stage, PREFERRED, person[paid] ?? 0n, price),
      })),
    );
    regroup(stage, PREFERRED, people, GROUPS.lockup);
  };
  const funds = investors.filter(({ kind }) => kind === "fund");
  const others = investors.filter(({ kind }) => kind !== "fund");
  return [
    on(day - 6, (stage) => {
      for (const person of investors) enroll(stage, PREFERRED, person);
    }),
    on(day, (stage) => close(stage, funds)),
    ...(others.length === 0 ? [] : [on(day + 21, (stage: Stage) => close(stage, others))]),
    on(day + LOCKUP_DAYS, (stage) => regroup(stage, PREFERRED, funds, GROUPS.investors)),
    on(day + LOCKUP_DAYS + 21, (stage) => regroup(stage, PREFERRED, others, GROUPS.investors)),
  ];
};

/** Employees exercise part of what vested: options are burned, shares issued. */
const exercise = (name: string, day: number, whole: bigint): Entry =>
  on(day, (stage) => {
    const person = personNamed(name);
    enroll(stage, COMMON, person);
    claimVested(stage, person);
    convert(stage, person, OPTIONS, whole);
  });

/** Leaves the company: the unvested part returns to the pool. */
const leaves = (name: string, day: number): readonly Entry[] => {
  const person = personNamed(name);
  return [
    on(day, (stage) => claimVested(stage, person)),
    on(day + 1, (stage) => cancelGrants(stage, person)),
  ];
};

/** A suspicion, or documents that ran out: nothing moves until it is cleared. */
const suspends = (name: string, symbol: string, day: number, until?: number): readonly Entry[] => {
  const person = personNamed(name);
  return [
    on(day, (stage) => freeze(stage, symbol, person, true)),
    ...(until === undefined
      ? []
      : [on(until, (stage: Stage) => freeze(stage, symbol, person, false))]),
  ];
};

/** A new wallet of a person in the same group; the old one is emptied by force and removed. */
const losesKey = (name: string, day: number): readonly Entry[] => {
  const person = personNamed(name);
  return [
    on(day, (stage) => freeze(stage, COMMON, person, true)),
    on(day + 4, (stage) => {
      const { coinType } = coinNamed(stage, COMMON);
      const { registrar } = staffOf(stage.keyring, COMMON);
      const { holderId } = person;
      const [lost, wallet] = [walletOf(stage, person), walletOf(stage, person, 8)];
      transactAll(stage, registrar, [
        { function: "addHolderAddress", args: { coinType, holderId, wallet } },
        { function: "setAddressGroup", args: { coinType, wallet, groupId: GROUPS.investors } },
      ]);
      moveByForce(stage, COMMON, [lost], wallet);
      freeze(stage, COMMON, person, false);
      transact(stage, registrar, "removeHolderAddress", { coinType, holderId, wallet: lost });
    }),
  ];
};

/** Shares in dispute are frozen; the court awards them to the other side. */
const dispute = (day: number, until: number): readonly Entry[] => {
  const [loser, winner] = [personNamed("Thomas Okafor"), personNamed("Sofia Lindqvist")];
  return [COMMON, PREFERRED].flatMap((symbol) => [
    ...suspends(loser.name, symbol, day),
    on(until, (stage) => {
      enroll(stage, symbol, winner);
      moveByForce(stage, symbol, walletsIn(stage, symbol, loser), walletOf(stage, winner));
    }),
    on(until + 1, (stage) => {
      freeze(stage, symbol, loser, false);
      strikeOff(stage, symbol, loser);
    }),
  ]);
};

/** The company buys shares back and cancels them; the seller keeps a remainder. */
const buysBack = (name: string, day: number, whole: bigint): readonly Entry[] => {
  const person = personNamed(name);
  return [
    on(day, (stage) => {
      const amount = units(stage, COMMON, whole);
      move(stage, COMMON, walletOf(stage, person), treasury(stage), amount);
      merge(stage, COMMON, treasury(stage));
    }),
    on(day + 2, (stage) => {
      const { coinType } = coinNamed(stage, COMMON);
      const [token] = tokensOf(stage, COMMON, [treasury(stage)]);
      const amount = units(stage, COMMON, whole);
      if (token === undefined || token.balance < amount) return;
      const { reserve } = staffOf(stage.keyring, COMMON);
      transact(stage, reserve, "burnAmount", { coinType, token: token.id, amount });
    }),
  ];
};

/** The finance director changes; the new one signs beside the old one for some weeks. */
const successor = (stage: Stage) => account(stage, "company/finance-2");
const changesHands: readonly Entry[] = [
  on(401, (stage) => appoint(stage, ALL, successor(stage), "ReserveAdmin")),
  on(120, (stage) => appoint(stage, ALL, account(stage, "company/deputy"), "WalletsAdmin")),
  on(205, (stage) => appoint(stage, ALL, account(stage, "company/deputy"), "WalletsAdmin", false)),
  on(433, (stage) =>
    appoint(stage, [PREFERRED], account(stage, "company/counsel"), "TransferAdmin"),
  ),
  on(534, (stage) =>
    appoint(stage, [PREFERRED], account(stage, "company/counsel"), "TransferAdmin", false),
  ),
  // Of another package, so without effect on the register.
  on(470, (stage) => {
    const role = `${lookAlike(stage)}::roles::TransferAdmin`;
    appointOf(stage, ALL, account(stage, "company/marketplace"), role);
  }),
  on(690, (stage) => {
    const role = roleType(stage.world.securities, "WalletsAdmin");
    appointOf(stage, [COMMON], account(stage, "company/deputy"), role);
  }),
];

const ENTRIES: readonly Entry[] = [
  ...CAST.flatMap(joins),
  ...round(SEED_DAY, SEED_PRICE, "seed"),
  ...round(SERIES_A_DAY, SERIES_A_PRICE, "seriesA"),
  // Funds may buy common shares once the series A is closed.
  on(SERIES_A_DAY + 20, (stage) => {
    for (const person of CAST) if (person.kind === "fund") enroll(stage, COMMON, person);
  }),
  on(SERIES_A_DAY + 18, (stage) =>
    issue(stage, OPTIONS, [{ to: pool(stage), amount: units(stage, OPTIONS, 800_000n) }]),
  ),
  on(SERIES_A_DAY + 19, (stage) => merge(stage, OPTIONS, pool(stage))),
  ...leaves("Ivan Petrov", 268),
  on(276, (stage) => strikeOff(stage, OPTIONS, personNamed("Ivan Petrov"))),
  ...leaves("Chiara Rossi", 577),
  ...leaves("David Lindgren", 655),
  // Removed with a remainder: a wallet that holds without a holder.
  on(668, (stage) => strikeOff(stage, OPTIONS, personNamed("David Lindgren"))),
  exercise("Amara Nwosu", 402, 20_000n),
  exercise("Bjorn Halvorsen", 415, 15_000n),
  exercise("Chiara Rossi", 436, 24_000n),
  exercise("Elif Kaya", 471, 10_000n),
  exercise("Farid Rahimi", 488, 8_000n),
  exercise("Grace Mbeki", 523, 12_500n),
  exercise("Hana Sato", 548, 9_000n),
  exercise("Daniel Haas", 430, 15_000n),
  exercise("Rachel Stein", 452, 12_000n),
  exercise("Chiara Rossi", 588, 15_000n),
  exercise("Amara Nwosu", 601, 30_000n),
  exercise("Julia Santos", 622, 11_000n),
  exercise("Karim Haddad", 640, 8_000n),
  on(556, (stage) => convert(stage, personNamed("Jonas Weber"), PREFERRED, 15_000n)),
  on(611, (stage) => convert(stage, personNamed("Claire Dubois"), PREFERRED, 10_000n)),
  ...buysBack("Chiara Rossi", 604, 30_000n),
  ...buysBack("Lena Kowalczyk", 632, 120_000n),
  ...suspends("Claire Dubois", COMMON, 181, 197),
  ...suspends("Lumen Angel Syndicate", PREFERRED, 427, 441),
  ...suspends("Tidewater Industrial Partners", PREFERRED, 702),
  ...suspends("Mei-Lin Chang", COMMON, 717),
  ...losesKey("Henrik Aasen", 292),
  ...dispute(466, 533),
  ...changesHands,
  on(300, (stage) => transferToOutsider(stage, coinNamed(stage, COMMON))),
  on(510, (stage) =>
    whitelistHalfWay(stage, coinNamed(stage, COMMON), staffOf(stage.keyring, COMMON)),
  ),
];

/** Acts by day, each day's in the order in which they are executed. */
export const CHRONICLE: ReadonlyMap<number, readonly Entry["act"][]> = Map.groupBy(
  ENTRIES,
  ({ day }) => day,
)
  .entries()
  .reduce(
    (days, [day, entries]) =>
      days.set(
        day,
        entries.map(({ act }) => act),
      ),
    new Map<number, readonly Entry["act"][]>(),
  );
