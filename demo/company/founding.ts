/** The first checkpoints of the company's ledger, one step each: contract, tokens, people, shares. */
import type { Call } from "../contract/calls.ts";
import type { Role } from "../contract/securities.ts";
import { issueCoin } from "../issuer/coins.ts";
import { EXCHANGE, EXCHANGE_OWNER, IMITATOR, LOOK_ALIKE } from "../issuer/foreign.ts";
import { openPool } from "../issuer/noise.ts";
import { publishContract, publishForeign, type Step, upgradeContract } from "../issuer/opening.ts";
import { issuerWallets, staffOf } from "../issuer/people.ts";
import { transactAll } from "../issuer/stage.ts";
import { CAST } from "./cast.ts";
import {
  appoint,
  coinNamed,
  enroll,
  GROUPS,
  issue,
  pool,
  treasury,
  units,
  walletOf,
} from "./desk.ts";
import { COMMON, COMPANY_COINS, OPTIONS, PREFERRED } from "./tokens.ts";

export const ALL = [COMMON, PREFERRED, OPTIONS];

const issueTokens: Step = (stage) => {
  for (const plan of COMPANY_COINS) issueCoin(stage, plan);
};

const appointStaff: Step = (stage) => {
  for (const symbol of ALL) {
    const staff = staffOf(stage.keyring, symbol);
    const duties: readonly (readonly [string, Role])[] = [
      [staff.reserve, "ReserveAdmin"],
      [staff.registrar, "WalletsAdmin"],
      [staff.officer, "TransferAdmin"],
      [staff.officer, "TimelockCanceler"],
    ];
    for (const [owner, role] of duties) appoint(stage, [symbol], owner, role);
  }
};

/** The company is holder 0 of its own registers, with its treasury and its option pool. */
const registerCompany: Step = (stage) => {
  for (const symbol of ALL) {
    const { coinType } = coinNamed(stage, symbol);
    const wallets = issuerWallets(stage, symbol);
    transactAll(stage, staffOf(stage.keyring, symbol).registrar, [
      { function: "addHolder", args: { coinType, holderId: 0n, wallets } },
      ...wallets.map((wallet): Call => {
        const args = { coinType, wallet, groupId: GROUPS.issuer };
        return { function: "setAddressGroup", args };
      }),
    ]);
  }
};

const issueFounders: Step = (stage) => {
  const founders = CAST.filter(({ kind }) => kind === "founder");
  for (const founder of founders) enroll(stage, COMMON, founder);
  issue(stage, COMMON, [
    ...founders.map((founder) => ({
      to: walletOf(stage, founder),
      amount: units(stage, COMMON, founder.common ?? 0n),
    })),
    { to: treasury(stage), amount: units(stage, COMMON, 1_400_000n) },
  ]);
};

const issuePool: Step = (stage) =>
  issue(stage, OPTIONS, [{ to: pool(stage), amount: units(stage, OPTIONS, 1_500_000n) }]);

/** Steps of checkpoints 1, 2, …; the contract's second version is published before any grant. */
export const FOUNDING: readonly Step[] = [
  publishContract,
  issueTokens,
  (stage) => {
    appointStaff(stage);
    registerCompany(stage);
  },
  (stage) => {
    issueFounders(stage);
    issuePool(stage);
  },
  (stage) => {
    publishForeign(IMITATOR, LOOK_ALIKE)(stage);
    publishForeign(EXCHANGE_OWNER, EXCHANGE)(stage);
    openPool(stage);
  },
  upgradeContract,
];
