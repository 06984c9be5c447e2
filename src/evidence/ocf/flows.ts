/**
 * Pairs the net movements of one transaction into flows. However they are paired, each account gains
 * and loses what its movements say.
 * First the mints, burns and transfers that the ledger logged, in their order. Then, in the order of
 * owners: a wallet's grants with its own tokens (a claim), movements of one cause, the rest.
 * Remainders were minted or burned. What one account receives from another for one cause is one flow.
 */
import type { BalanceChange, Cause, ChangedPart } from "../../projections/balance-changes.ts";
import type { ActivityType, TokenActivity } from "../../projections/token-activity.ts";
import { lowest } from "../../values/bigints.ts";

export type Account = { readonly wallet: string; readonly part: ChangedPart };

/** More than 0; without `from` minted, without `to` burned. */
export type Flow = {
  readonly from?: Account;
  readonly to?: Account;
  readonly amount: bigint;
  readonly cause: Cause;
};

export const keyOf = (account: Account | undefined): string =>
  account === undefined ? "" : `${account.part} ${account.wallet}`;

type Open = { readonly account: Account; readonly cause: Cause; rest: bigint };

const CAUSE_OF: Readonly<Record<ActivityType, Cause>> = {
  mint: "MINT",
  burn: "BURN",
  transfer: "TRANSFER",
  force_transfer: "FORCE_TRANSFER",
};

export const flowsOf = (
  changes: readonly Pick<BalanceChange, "owner" | "part" | "cause" | "change">[],
  activity: readonly Pick<TokenActivity, "activityType" | "fromAddress" | "toAddress" | "amount">[],
): readonly Flow[] => {
  const open = changes.map(({ owner, part, cause, change }): Open & { readonly isIn: boolean } => ({
    account: { wallet: owner, part },
    cause,
    rest: change < 0n ? -change : change,
    isIn: change > 0n,
  }));
  const [ins, outs] = [open.filter(({ isIn }) => isIn), open.filter(({ isIn }) => !isIn)];
  const flows = new Map<string, Flow>();
  const flow = (
    out: Open | undefined,
    into: Open | undefined,
    amount: bigint,
    cause: Cause = (out ?? into)?.cause ?? "UNKNOWN",
  ): void => {
    if (amount === 0n) return;
    if (out) out.rest -= amount;
    if (into) into.rest -= amount;
    const key = [cause, keyOf(out?.account), keyOf(into?.account)].join(" ");
    flows.set(key, {
      ...(out && { from: out.account }),
      ...(into && { to: into.account }),
      amount: amount + (flows.get(key)?.amount ?? 0n),
      cause,
    });
  };
  const tokensOf = (side: readonly Open[], wallet: string | null) =>
    side.find(({ account }) => account.part === "TOKENS" && account.wallet === wallet);
  for (const { activityType, fromAddress, toAddress, amount } of activity) {
    const [out, into] = [tokensOf(outs, fromAddress), tokensOf(ins, toAddress)];
    // A named side with nothing left has passed it on within the transaction.
    if ((fromAddress !== null && !out) || (toAddress !== null && !into)) continue;
    const most = lowest(amount, out?.rest ?? amount, into?.rest ?? amount);
    flow(out, into, most, CAUSE_OF[activityType]);
  }
  const pairs: readonly ((out: Open, into: Open) => boolean)[] = [
    (out, into) => out.account.wallet === into.account.wallet,
    (out, into) => out.cause === into.cause,
    () => true,
  ];
  for (const belong of pairs) {
    for (const out of outs) {
      for (const into of ins) {
        if (out.rest === 0n) break;
        if (belong(out, into)) flow(out, into, lowest(out.rest, into.rest));
      }
    }
  }
  for (const out of outs) flow(out, undefined, out.rest);
  for (const into of ins) flow(undefined, into, into.rest);
  return [...flows.values()];
};
