/**
 * The first checkpoints of every demo ledger, one step each. They contain everything that can
 * happen to a security token, for any seed; then chance takes over.
 */
import type { Call } from "../contract/calls.ts";
import { ROLES, type Role, registerOf, roleType, rostersOf } from "../contract/securities.ts";
import type { CoinModel, TokenModel } from "../model.ts";
import { churn, claim, flash } from "./actions.ts";
import { COINS, issueCoin } from "./coins.ts";
import { mintWithoutRole, runOutOfGas, transferToOutsider, whitelistHalfWay } from "./failures.ts";
import { EXCHANGE, EXCHANGE_OWNER, IMITATOR, imitate, LOOK_ALIKE, lookAlike } from "./foreign.ts";
import { openPool } from "./noise.ts";
import { publish, type Sources, upgrade } from "./packages.ts";
import {
  deputy,
  FIRST_INVESTORS,
  holderIdOf,
  investorWallets,
  issuerWallets,
  type Staff,
  staffOf,
} from "./people.ts";
import { SCHEDULES } from "./schedules.ts";
import { account, type Stage, transact, transactAll } from "./stage.ts";

/** One checkpoint of the opening. */
export type Step = (stage: Stage) => void;

/** Repeats a step for every security token, with its staff. */
const forEachCoin =
  (act: (stage: Stage, coin: CoinModel, staff: Staff) => void): Step =>
  (stage) => {
    for (const coin of stage.world.securities.model.coins.values()) {
      act(stage, coin, staffOf(stage.keyring, coin.symbol));
    }
  };

/** The oldest token of an owner. */
const tokenOf = (stage: Stage, coinType: string, owner: string): TokenModel | undefined => {
  for (const token of stage.world.securities.model.tokens.values()) {
    if (token.coinType === coinType && token.owner === owner) return token;
  }
  return undefined;
};

const walletOf = (stage: Stage, investor: number): string =>
  investorWallets(stage, investor)[0] ?? "";

/** Whole tokens in smallest units. */
const units = (coin: CoinModel, whole: bigint): bigint => whole * 10n ** BigInt(coin.decimals);

const freezeWallets = (isFrozen: boolean): Step =>
  forEachCoin((stage, { coinType }, { officer }) => {
    for (const investor of [1, 2]) {
      const wallet = walletOf(stage, investor);
      if (registerOf(stage.world.securities, coinType).frozen.has(wallet) === isFrozen) continue;
      transact(stage, officer, "setAddressFrozen", { coinType, wallet, isFrozen });
    }
  });

const moveFrozen = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 1);
  const token = tokenOf(stage, coinType, owner);
  if (token === undefined) return;
  transact(stage, owner, "transfer", { coinType, token: token.id, to: walletOf(stage, 2) });
});

/** Three grants: ended, running, and not yet begun. */
const fundGrants = forEachCoin((stage, coin) => {
  const [, incentives] = issuerWallets(stage, coin.symbol);
  const now = stage.open.timestampMs;
  const year = 365n * 86_400_000n;
  const grants = [
    { recipient: walletOf(stage, 0), schedule: SCHEDULES.year, commenced: now - 2n * year },
    { recipient: walletOf(stage, 1), schedule: SCHEDULES.fourYears, commenced: now - 2n * year },
    { recipient: walletOf(stage, 2), schedule: SCHEDULES.minutes, commenced: now + 60_000n },
  ];
  const token = tokenOf(stage, coin.coinType, incentives);
  if (token === undefined) return;
  for (const { recipient, schedule, commenced } of grants) {
    transact(stage, incentives, "fund", {
      ...schedule,
      coinType: coin.coinType,
      token: token.id,
      recipient,
      commencementTimestampMs: commenced,
      totalAmount: units(coin, 1_200n),
    });
  }
});

const grantsOf = (stage: Stage, coinType: string, owner: string) =>
  rostersOf(stage.world.securities, coinType)
    .grants.items.map((id) => stage.world.securities.model.grants.get(id))
    .filter((grant) => grant !== undefined)
    .filter((grant) => grant.owner === owner);

/** Into a new token, and into an existing one. */
const claimGrants = forEachCoin((stage, { coinType }) => {
  for (const investor of [0, 1]) {
    const owner = walletOf(stage, investor);
    const [grant] = grantsOf(stage, coinType, owner);
    const token = tokenOf(stage, coinType, owner);
    if (grant === undefined || token === undefined) continue;
    claim(stage, grant, investor === 0 ? undefined : token);
  }
});

const cancelGrant = forEachCoin((stage, { coinType }, { officer }) => {
  const [grant] = grantsOf(stage, coinType, walletOf(stage, 1));
  if (grant === undefined) return;
  transact(stage, officer, "cancel", { coinType, grant: grant.id, reclaimer: grant.funder });
});

const destroyGrant = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 0);
  const grant = grantsOf(stage, coinType, owner).find(({ leftBalance }) => leftBalance === 0n);
  if (grant === undefined) return;
  transact(stage, owner, "destroyEmpty", { coinType, grant: grant.id });
});

const mintToIssuer = forEachCoin((stage, coin, { reserve }) => {
  const { coinType } = coin;
  const [treasury, incentives] = issuerWallets(stage, coin.symbol);
  transact(stage, reserve, "mint", { coinType, to: treasury, amount: units(coin, 1_000_000n) });
  transact(stage, reserve, "mint", { coinType, to: incentives, amount: units(coin, 250_000n) });
});

/** An offering: many mints in one transaction. */
const offer = forEachCoin((stage, coin, { reserve }) => {
  const calls = Array.from({ length: FIRST_INVESTORS }, (_, investor): Call => {
    const amount = units(coin, BigInt(1_000 * (investor + 1)));
    const args = { coinType: coin.coinType, to: walletOf(stage, investor), amount };
    return { function: "mint", args };
  });
  transactAll(stage, reserve, calls);
});

const moveTokens = forEachCoin((stage, coin, { officer }) => {
  const { coinType } = coin;
  const [from, to] = [walletOf(stage, 3), walletOf(stage, 4)];
  const token = tokenOf(stage, coinType, from);
  if (token === undefined) return;
  const args = { coinType, token: token.id };
  transact(stage, from, "transferAmount", { ...args, to, amount: units(coin, 10n) });
  transact(stage, from, "split", { ...args, amount: units(coin, 100n) });
  transact(stage, from, "transfer", { ...args, to });
  transact(stage, officer, "forceTransfer", { ...args, to: from });
});

const joinTokens = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 3);
  const [into, from] = [...stage.world.securities.model.tokens.values()].filter(
    (token) => token.coinType === coinType && token.owner === owner,
  );
  if (into === undefined || from === undefined) return;
  transact(stage, owner, "join", { coinType, into: into.id, from: from.id });
});

/** Part of a token, all of one (its object stays), and one with its object. */
const burnTokens = forEachCoin((stage, { coinType }, { reserve }) => {
  const burnFrom = (investor: number, share: bigint) => {
    const token = tokenOf(stage, coinType, walletOf(stage, investor));
    if (token === undefined) return;
    const amount = token.balance / share;
    transact(stage, reserve, "burnAmount", { coinType, token: token.id, amount });
  };
  burnFrom(5, 4n);
  burnFrom(6, 1n);
  const whole = tokenOf(stage, coinType, walletOf(stage, 7));
  if (whole === undefined) return;
  transact(stage, reserve, "burn", { coinType, token: whole.id });
});

const failInVain = forEachCoin((stage, coin, staff) => {
  mintWithoutRole(stage, coin);
  transferToOutsider(stage, coin);
  whitelistHalfWay(stage, coin, staff);
  runOutOfGas(stage, coin);
});

/** Modules and types of the package's first version. */
const FIRST_VERSION: Sources = {
  controlled_treasury: ["Burn", "ControlledTreasury", "Mint", "RoleChange", "RoleKey"],
  group_holder_config: [
    "AddressJoinedGroup",
    "AddressLeftGroup",
    "HolderAdded",
    "HolderAddressAdded",
    "HolderAddressRemoved",
    "HolderRemoved",
  ],
  roles: [...ROLES],
  shared_token: ["ForceTransfer", "SharedToken", "Transfer"],
  transfers: [],
};
/** Additions of the second version. */
const SECOND_VERSION: Sources = {
  freeze_rule: ["AddressFrozen", "FrozenKey"],
  timelock: ["Timelock"],
};
export const PUBLISHER = "publisher";

export const publishContract: Step = (stage) => {
  const sender = account(stage, PUBLISHER);
  const { packageId, capId } = publish(stage, sender, FIRST_VERSION);
  stage.world.securities.packages.push(packageId);
  stage.world.upgradeCap = capId;
};

export const upgradeContract: Step = (stage) => {
  const { securities, upgradeCap } = stage.world;
  const before = {
    packageId: securities.packages[0] ?? "",
    capId: upgradeCap,
    sources: FIRST_VERSION,
  };
  securities.packages.push(upgrade(stage, account(stage, PUBLISHER), before, SECOND_VERSION));
};

export const publishForeign =
  (label: string, sources: Sources): Step =>
  (stage) => {
    stage.world.foreignPackages.push(publish(stage, account(stage, label), sources).packageId);
  };

const appointStaff = forEachCoin((stage, { coinType }, staff) => {
  const duties: readonly (readonly [string, Role])[] = [
    [staff.reserve, "ReserveAdmin"],
    [staff.registrar, "WalletsAdmin"],
    [staff.officer, "TransferAdmin"],
    [staff.officer, "TimelockCanceler"],
    [deputy(stage, 0), "WalletsAdmin"],
  ];
  for (const [owner, role] of duties) {
    transact(stage, staff.admin, "grantRole", {
      coinType,
      owner,
      role: roleType(stage.world.securities, role),
    });
  }
});

/** The issuer is holder 0, with two wallets. */
const registerIssuer = forEachCoin((stage, { coinType, symbol }, { registrar }) => {
  const wallets = issuerWallets(stage, symbol);
  transact(stage, registrar, "addHolder", { coinType, holderId: 0n, wallets });
});

const registerInvestors = (from: number, to: number): Step =>
  forEachCoin((stage, { coinType }, { registrar }) => {
    for (let investor = from; investor < to; investor += 1) {
      transact(stage, registrar, "addHolder", {
        coinType,
        holderId: holderIdOf(investor),
        wallets: investorWallets(stage, investor),
      });
    }
  });

const assignGroups = forEachCoin((stage, { coinType }, { registrar }) => {
  const calls = Array.from({ length: FIRST_INVESTORS }, (_, investor): Call => {
    const groupId = BigInt(investor % 3);
    const args = { coinType, wallet: walletOf(stage, investor), groupId };
    return { function: "setAddressGroup", args };
  });
  transactAll(stage, registrar, calls);
});

/** Investor 1's wallet changes its group, investor 2's leaves it. */
const changeGroups = forEachCoin((stage, { coinType }, { registrar }) => {
  transact(stage, registrar, "setAddressGroup", {
    coinType,
    wallet: walletOf(stage, 1),
    groupId: 7n,
  });
  transact(stage, registrar, "clearAddressGroup", { coinType, wallet: walletOf(stage, 2) });
});

/** Roles of the same names from another package, beside and instead of ours. */
const appointStrangers = forEachCoin((stage, { coinType }, { admin }) => {
  const foreign = (role: Role) => `${lookAlike(stage)}::roles::${role}`;
  const grant = (owner: string, role: string) =>
    transact(stage, admin, "grantRole", { coinType, owner, role });
  grant(deputy(stage, 0), foreign("TransferAdmin"));
  grant(deputy(stage, 1), foreign("WalletsAdmin"));
});

const dismissDeputy = forEachCoin((stage, { coinType }, { admin }) => {
  const role = roleType(stage.world.securities, "WalletsAdmin");
  const args = { coinType, owner: deputy(stage, 0), role };
  transact(stage, admin, "revokeRole", args);
});

/** Removes a second wallet, and a holder. */
const removePeople = forEachCoin((stage, { coinType }, { registrar }) => {
  const [, second] = investorWallets(stage, 0);
  if (second !== undefined) {
    const args = { coinType, holderId: holderIdOf(0), wallet: second };
    transact(stage, registrar, "removeHolderAddress", args);
  }
  const args = { coinType, holderId: holderIdOf(7) };
  transact(stage, registrar, "removeHolder", args);
});

const quiet: Step = () => undefined;

/** Steps of checkpoints 1, 2, …; a bare one has no transaction. */
export const OPENING: readonly (Step | "bare")[] = [
  publishContract,
  ...COINS.map((plan) => (stage: Stage) => issueCoin(stage, plan)),
  quiet,
  publishForeign(IMITATOR, LOOK_ALIKE),
  publishForeign(EXCHANGE_OWNER, EXCHANGE),
  openPool,
  appointStaff,
  registerIssuer,
  registerInvestors(0, 4),
  registerInvestors(4, FIRST_INVESTORS),
  assignGroups,
  quiet,
  mintToIssuer,
  offer,
  moveTokens,
  joinTokens,
  forEachCoin((stage, { coinType }) => imitate(stage, coinType)),
  burnTokens,
  changeGroups,
  appointStrangers,
  failInVain,
  quiet,
  forEachCoin(churn),
  forEachCoin(flash),
  dismissDeputy,
  upgradeContract,
  "bare",
  freezeWallets(true),
  moveFrozen,
  fundGrants,
  freezeWallets(false),
  claimGrants,
  cancelGrant,
  destroyGrant,
  removePeople,
];
