/** A visitor of the demo has wallets of their own on its ledger. */
import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { OPENING_ENDS } from "../../demo/issuer/advance.ts";

/** Enough for every one of these wallets to be moved, frozen and removed many times over. */
const CHECKPOINTS = 1_500;

test("the simulated issuer leaves wallets of another program alone", async () => {
  const ledger = createDemoLedger({ seed: "visitors", investors: 8, actionsPerCheckpoint: 4 });
  const [coin] = ledger.coinTypes;
  if (coin === undefined) throw new Error("no coin");
  const { coinType } = coin;
  const { registrar, officer } = ledger.staff(coinType);
  const visitors = Array.from({ length: 6 }, (_, n) => `0x${String(n + 1).repeat(64)}`);
  while (ledger.nextSequence <= OPENING_ENDS) ledger.next();
  const receipts = visitors.map((wallet, n) =>
    ledger.submit({
      sender: registrar,
      calls: [
        // The first is one of a holder of the simulation, and the others are holders of their own.
        {
          function: "addHolderAddress",
          args: { coinType, holderId: n === 0 ? 1n : 1_000n + BigInt(n), wallet },
        },
        { function: "setAddressGroup", args: { coinType, wallet, groupId: 1n } },
      ],
    }),
  );
  const [, frozen = ""] = visitors;
  const freeze = { coinType, wallet: frozen, isFrozen: true };
  receipts.push(
    ledger.submit({ sender: officer, calls: [{ function: "setAddressFrozen", args: freeze }] }),
  );
  ledger.next();
  for (const { error } of await Promise.all(receipts)) expect(error).toBe(null);

  const before = ledger.nextSequence;
  for (let n = 0; n < CHECKPOINTS; n += 1) ledger.next();
  const { model } = ledger;
  const touched = [
    ...model.holderEvents
      .filter(({ address }) => address !== null && visitors.includes(address))
      .map(({ eventType, checkpoint }) => ({ eventType, checkpoint })),
    ...model.activity
      .filter(({ fromAddress, toAddress }) =>
        [fromAddress, toAddress].some((each) => each !== null && visitors.includes(each)),
      )
      .map(({ activityType, checkpoint }) => ({ eventType: activityType, checkpoint })),
    ...[...model.grants.values()]
      .filter(({ owner }) => visitors.includes(owner))
      .map(({ checkpoint }) => ({ eventType: "grant", checkpoint })),
  ].filter(({ checkpoint }) => checkpoint >= before);
  expect(touched).toEqual([]);
  const register = model.registers.get(coinType);
  expect(visitors.map((wallet) => register?.groups.get(wallet))).toEqual(visitors.map(() => 1n));
  expect(register?.frozen.has(frozen)).toBe(true);
  // And it goes on with its own.
  const own = model.holderEvents.filter((event) => event.checkpoint >= before);
  expect(new Set(own.map(({ eventType }) => eventType)).size).toBe(7);
});
