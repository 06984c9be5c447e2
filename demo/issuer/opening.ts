/**
 * The first checkpoints of every demo ledger, one step each. They contain everything that can
 * happen to a security token, for any seed; then chance takes over.
 */
import { ROLES, type Role, roleType } from "../contract/securities.ts";
import { COINS, issueCoin } from "./coins.ts";
import { churn, flash } from "./curiosities.ts";
import {
  cancelGrant,
  claimGrants,
  destroyGrant,
  freezeWallets,
  fundGrants,
  moveFrozen,
} from "./first-grants.ts";
import {
  burnTokens,
  failInVain,
  joinTokens,
  mintToIssuer,
  moveTokens,
  offer,
} from "./first-trades.ts";
import { EXCHANGE, EXCHANGE_OWNER, IMITATOR, imitate, LOOK_ALIKE, lookAlike } from "./foreign.ts";
import { openPool } from "./noise.ts";
import { publish, type Sources, upgrade } from "./packages.ts";
import { deputy, FIRST_INVESTORS, holderIdOf, investorWallets, issuerWallets } from "./people.ts";
import { account, type Stage, transact } from "./stage.ts";
import { forEachCoin, type Step, walletOf } from "./step.ts";

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
const PUBLISHER = "publisher";

const publishContract: Step = (stage) => {
  const sender = account(stage, PUBLISHER);
  const { packageId, capId } = publish(stage, sender, FIRST_VERSION);
  stage.world.securities.packages.push(packageId);
  stage.world.upgradeCap = capId;
};

const upgradeContract: Step = (stage) => {
  const { securities, upgradeCap } = stage.world;
  const before = {
    packageId: securities.packages[0] ?? "",
    capId: upgradeCap,
    sources: FIRST_VERSION,
  };
  securities.packages.push(upgrade(stage, account(stage, PUBLISHER), before, SECOND_VERSION));
};

const publishForeign =
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
    transact(stage, staff.admin, [
      {
        function: "grantRole",
        args: { coinType, owner, role: roleType(stage.world.securities, role) },
      },
    ]);
  }
});

/** The issuer is holder 0, with two wallets. */
const registerIssuer = forEachCoin((stage, { coinType, symbol }, { registrar }) => {
  const wallets = issuerWallets(stage, symbol);
  transact(stage, registrar, [
    { function: "addHolder", args: { coinType, holderId: 0n, wallets } },
  ]);
});

const registerInvestors = (from: number, to: number): Step =>
  forEachCoin((stage, { coinType }, { registrar }) => {
    for (let investor = from; investor < to; investor += 1) {
      transact(stage, registrar, [
        {
          function: "addHolder",
          args: {
            coinType,
            holderId: holderIdOf(investor),
            wallets: investorWallets(stage, investor),
          },
        },
      ]);
    }
  });

const assignGroups = forEachCoin((stage, { coinType }, { registrar }) => {
  transact(
    stage,
    registrar,
    Array.from({ length: FIRST_INVESTORS }, (_, investor) => ({
      function: "setAddressGroup",
      args: { coinType, wallet: walletOf(stage, investor), groupId: BigInt(investor % 3) },
    })),
  );
});

/** Investor 1's wallet changes its group, investor 2's leaves it. */
const changeGroups = forEachCoin((stage, { coinType }, { registrar }) => {
  transact(stage, registrar, [
    { function: "setAddressGroup", args: { coinType, wallet: walletOf(stage, 1), groupId: 7n } },
  ]);
  transact(stage, registrar, [
    { function: "clearAddressGroup", args: { coinType, wallet: walletOf(stage, 2) } },
  ]);
});

/** Roles of the same names from another package, beside and instead of ours. */
const appointStrangers = forEachCoin((stage, { coinType }, { admin }) => {
  const foreign = (role: Role) => `${lookAlike(stage)}::roles::${role}`;
  const grant = (owner: string, role: string) =>
    transact(stage, admin, [{ function: "grantRole", args: { coinType, owner, role } }]);
  grant(deputy(stage, 0), foreign("TransferAdmin"));
  grant(deputy(stage, 1), foreign("WalletsAdmin"));
});

const dismissDeputy = forEachCoin((stage, { coinType }, { admin }) => {
  const role = roleType(stage.world.securities, "WalletsAdmin");
  const args = { coinType, owner: deputy(stage, 0), role };
  transact(stage, admin, [{ function: "revokeRole", args }]);
});

/** Removes a second wallet, and a holder. */
const removePeople = forEachCoin((stage, { coinType }, { registrar }) => {
  const [, second] = investorWallets(stage, 0);
  if (second !== undefined) {
    const args = { coinType, holderId: holderIdOf(0), wallet: second };
    transact(stage, registrar, [{ function: "removeHolderAddress", args }]);
  }
  const args = { coinType, holderId: holderIdOf(7) };
  transact(stage, registrar, [{ function: "removeHolder", args }]);
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
