/** Changes of the holder register. */
import { registerOf } from "../contract/securities.ts";
import { between, chance, roll } from "../random.ts";
import type { Action } from "./action.ts";
import { drawInvestor, drawWallet, holderIdOf, investorWallets } from "./people.ts";
import { transact } from "./stage.ts";

export const registerActions: readonly Action[] = [
  {
    weight: 6,
    run: (stage, { coinType }, { registrar }) => {
      const { dice, securities } = stage.world;
      const investor = drawInvestor(stage);
      const holderId = holderIdOf(investor);
      const register = registerOf(securities, coinType);
      const free = investorWallets(stage, investor).filter(
        (wallet) => !register.wallets.has(wallet),
      );
      const [wallet] = free;
      if (wallet === undefined) return;
      if (!register.holders.has(holderId) && chance(dice, 0.5)) {
        const wallets = free.slice(0, between(dice, 1, free.length));
        transact(stage, registrar, [
          { function: "addHolder", args: { coinType, holderId, wallets } },
        ]);
        return;
      }
      // Whitelisting: wallet and group in one transaction.
      transact(stage, registrar, [
        { function: "addHolderAddress", args: { coinType, holderId, wallet } },
        {
          function: "setAddressGroup",
          args: { coinType, wallet, groupId: BigInt(roll(dice, 4)) },
        },
      ]);
    },
  },
  {
    weight: 4,
    run: (stage, { coinType }, { registrar }) => {
      const wallet = drawWallet(stage, coinType);
      if (wallet === undefined) return;
      const groupId = BigInt(roll(stage.world.dice, 5));
      transact(stage, registrar, [
        { function: "setAddressGroup", args: { coinType, wallet, groupId } },
      ]);
    },
  },
  {
    weight: 1,
    run: (stage, { coinType }, { registrar }) => {
      const { groups } = registerOf(stage.world.securities, coinType);
      const wallet = drawWallet(stage, coinType, (one) => groups.has(one));
      if (wallet === undefined) return;
      transact(stage, registrar, [{ function: "clearAddressGroup", args: { coinType, wallet } }]);
    },
  },
  {
    weight: 1,
    run: (stage, { coinType }, { registrar }) => {
      const { wallets, holders } = registerOf(stage.world.securities, coinType);
      const wallet = drawWallet(stage, coinType, (one) => wallets.get(one) !== 0n);
      const holderId = wallets.get(wallet ?? "");
      if (wallet === undefined || holderId === undefined) return;
      const ours = holders.get(holderId)?.every((one) => stage.keyring.knows(one)) ?? false;
      transact(stage, registrar, [
        chance(stage.world.dice, 0.3) && ours
          ? { function: "removeHolder", args: { coinType, holderId } }
          : { function: "removeHolderAddress", args: { coinType, holderId, wallet } },
      ]);
    },
  },
  {
    weight: 2,
    run: (stage, { coinType }, { officer }) => {
      const { frozen, wallets } = registerOf(stage.world.securities, coinType);
      const release = frozen.size > wallets.size / 10;
      const longest = frozen.keys().find((one) => stage.keyring.knows(one));
      const wallet = release ? longest : drawWallet(stage, coinType, (one) => !frozen.has(one));
      if (wallet === undefined) return;
      transact(stage, officer, [
        { function: "setAddressFrozen", args: { coinType, wallet, isFrozen: !release } },
      ]);
    },
  },
];
