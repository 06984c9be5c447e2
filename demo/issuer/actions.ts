/** Random actions with security tokens after the opening, and their weights. */
import { hasRole, ROLES, roleType, rostersOf } from "../contract/securities.ts";
import { chance, pick, pickWeighted, roll } from "../random.ts";
import type { Action } from "./action.ts";
import { churn, flash } from "./curiosities.ts";
import { tryInVain } from "./failures.ts";
import { imitate, lookAlike } from "./foreign.ts";
import { grantActions } from "./grant-actions.ts";
import { DEPUTIES, deputy, staffOf } from "./people.ts";
import { registerActions } from "./register-actions.ts";
import { type Stage, transact } from "./stage.ts";
import { burnOne, supplyActions, tokenActions } from "./token-actions.ts";

const roleActions: readonly Action[] = [
  {
    weight: 2,
    run: (stage, { coinType }, { admin }) => {
      const { dice, securities } = stage.world;
      const name = pick(dice, ROLES) ?? "WalletsAdmin";
      const role = chance(dice, 0.2)
        ? `${lookAlike(stage)}::roles::${name}`
        : roleType(securities, name);
      const owner = deputy(stage, roll(dice, DEPUTIES));
      const has = hasRole(securities, coinType, owner, role);
      transact(stage, admin, [
        { function: has ? "revokeRole" : "grantRole", args: { coinType, owner, role } },
      ]);
    },
  },
];

const oddActions: readonly Action[] = [
  { weight: 4, run: tryInVain },
  { weight: 1, run: flash },
  { weight: 2, run: churn },
  { weight: 1, run: (stage, { coinType }) => imitate(stage, coinType) },
];

const ACTIONS: readonly Action[] = [
  ...supplyActions,
  ...tokenActions,
  ...grantActions,
  ...registerActions,
  ...roleActions,
  ...oddActions,
];

export const actAtRandom = (stage: Stage): void => {
  const { dice, securities } = stage.world;
  const coin = pick(dice, [...securities.model.coins.values()]);
  if (coin === undefined) return;
  const staff = staffOf(stage.keyring, coin.symbol);
  // Keeps the number of tokens bounded.
  const tokens = rostersOf(securities, coin.coinType).tokens.items.length;
  if (tokens > stage.pace.investors * 3) burnOne(stage, coin.coinType, staff.reserve);
  else pickWeighted(dice, ACTIONS)?.run(stage, coin, staff);
};
