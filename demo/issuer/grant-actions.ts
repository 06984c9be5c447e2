/** Funding, claiming, cancelling and deleting grants. */
import { rostersOf } from "../contract/securities.ts";
import { claimableAt, lockedAt } from "../contract/unlocking.ts";
import { amountUpTo } from "../random.ts";
import type { Action } from "./action.ts";
import { drawGrant, drawToken, drawWallet } from "./people.ts";
import { drawTerms } from "./schedules.ts";
import { transact } from "./stage.ts";

export const grantActions: readonly Action[] = [
  {
    weight: 6,
    run: (stage, { coinType }) => {
      const { dice, securities } = stage.world;
      const grants = rostersOf(securities, coinType).grants.items.length;
      if (grants > stage.pace.investors * 2) return;
      const token = drawToken(stage, coinType, ({ balance }) => balance > 10n);
      const recipient = drawWallet(stage, coinType);
      if (token === undefined || recipient === undefined) return;
      const terms = drawTerms(dice, stage.open.timestampMs, amountUpTo(dice, token.balance));
      transact(stage, token.owner, [
        { function: "fund", args: { ...terms, coinType, token: token.id, recipient } },
      ]);
    },
  },
  {
    weight: 8,
    run: (stage, { coinType }) => {
      const now = stage.open.timestampMs;
      const grant = drawGrant(stage, coinType, (one) => claimableAt(one, now) > 0n);
      if (grant === undefined) return;
      const token = drawToken(stage, coinType, ({ owner }) => owner === grant.owner);
      transact(stage, grant.owner, [
        token === undefined
          ? { function: "claim", args: { coinType, grant: grant.id } }
          : { function: "claimInto", args: { coinType, grant: grant.id, token: token.id } },
      ]);
    },
  },
  {
    weight: 2,
    run: (stage, { coinType }, { officer }) => {
      const now = stage.open.timestampMs;
      const grant = drawGrant(stage, coinType, (one) => lockedAt(one, now) > 0n);
      if (grant === undefined) return;
      transact(stage, officer, [
        { function: "cancel", args: { coinType, grant: grant.id, reclaimer: grant.funder } },
      ]);
    },
  },
  {
    weight: 3,
    run: (stage, { coinType }) => {
      const grant = drawGrant(stage, coinType, ({ leftBalance }) => leftBalance === 0n);
      if (grant === undefined) return;
      transact(stage, grant.owner, [
        { function: "destroyEmpty", args: { coinType, grant: grant.id } },
      ]);
    },
  },
];
