/** Opening steps that need the package's second version: freezes and grants. */
import { registerOf, rostersOf } from "../contract/securities.ts";
import { issuerWallets } from "./people.ts";
import { SCHEDULES } from "./schedules.ts";
import { type Stage, transact } from "./stage.ts";
import { forEachCoin, type Step, tokenOf, units, walletOf } from "./step.ts";

export const freezeWallets = (isFrozen: boolean): Step =>
  forEachCoin((stage, { coinType }, { officer }) => {
    for (const investor of [1, 2]) {
      const wallet = walletOf(stage, investor);
      if (registerOf(stage.world.securities, coinType).frozen.has(wallet) === isFrozen) continue;
      transact(stage, officer, [
        { function: "setAddressFrozen", args: { coinType, wallet, isFrozen } },
      ]);
    }
  });

/** Tries to move a frozen wallet's token. */
export const moveFrozen = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 1);
  const token = tokenOf(stage, coinType, owner);
  if (token === undefined) return;
  transact(stage, owner, [
    { function: "transfer", args: { coinType, token: token.id, to: walletOf(stage, 2) } },
  ]);
});

/** Three grants: ended, running, and not yet begun. */
export const fundGrants = forEachCoin((stage, coin) => {
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
    transact(stage, incentives, [
      {
        function: "fund",
        args: {
          ...schedule,
          coinType: coin.coinType,
          token: token.id,
          recipient,
          commencementTimestampMs: commenced,
          totalAmount: units(coin, 1_200n),
        },
      },
    ]);
  }
});

const grantsOf = (stage: Stage, coinType: string, owner: string) =>
  rostersOf(stage.world.securities, coinType)
    .grants.items.map((id) => stage.world.securities.model.grants.get(id))
    .filter((grant) => grant !== undefined)
    .filter((grant) => grant.owner === owner);

export const claimGrants = forEachCoin((stage, { coinType }) => {
  for (const [investor, into] of [
    [0, false],
    [1, true],
  ] as const) {
    const owner = walletOf(stage, investor);
    const [grant] = grantsOf(stage, coinType, owner);
    const token = tokenOf(stage, coinType, owner);
    if (grant === undefined || token === undefined) continue;
    transact(stage, owner, [
      into
        ? { function: "claimInto", args: { coinType, grant: grant.id, token: token.id } }
        : { function: "claim", args: { coinType, grant: grant.id } },
    ]);
  }
});

export const cancelGrant = forEachCoin((stage, { coinType }, { officer }) => {
  const [grant] = grantsOf(stage, coinType, walletOf(stage, 1));
  if (grant === undefined) return;
  transact(stage, officer, [
    { function: "cancel", args: { coinType, grant: grant.id, reclaimer: grant.funder } },
  ]);
});

export const destroyGrant = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 0);
  const grant = grantsOf(stage, coinType, owner).find(({ leftBalance }) => leftBalance === 0n);
  if (grant === undefined) return;
  transact(stage, owner, [{ function: "destroyEmpty", args: { coinType, grant: grant.id } }]);
});
