import { expect, test } from "vitest";
import { payingCoins } from "../../src/ta/ports/sui-relay.ts";

test("a coin that is too small for the budget pays for nothing, whoever sent it", () => {
  const coins = [
    { objectId: "0x1", balance: 49n },
    { objectId: "0x2", balance: 50n },
    { objectId: "0x3" },
    { balance: 100n },
  ];
  expect(payingCoins(coins, 50n)).toEqual(["sui:0x2", "sui:0x3"]);
});
