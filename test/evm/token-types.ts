/** What version 5 alone can do: vesting mints, token types, and movements of one holding. */
import type { Anvil, Deployed } from "./anvil.ts";
import type { Scenario } from "./scenario.ts";

/** Drives each of them once and expects what it logs; schedules 0 and 1 must exist. */
export const tokenTypesAndVestingMints = async (
  chain: Anvil,
  token: Deployed,
  told: Scenario,
  begun: number,
): Promise<void> => {
  const { at } = told;
  const send = (name: string, args: readonly unknown[]) => chain.send(token, name, args);
  await send("mintReleaseSchedule", [at("D"), 77, begun, 1, []]);
  told.expect("mintReleaseSchedule", [["0", "D", 77]], () => 1);
  await send("batchMintReleaseSchedule", [
    [at("D"), at("J"), at("D")],
    [5, 5, 5],
    [begun, begun, begun],
    [0, 1, 0],
    [],
  ]);
  told.expect("batchMintReleaseSchedule", [["0", "D", 5]], () => 0);
  told.expect("batchMintReleaseSchedule", [["0", "J", 5]], () => 1);
  told.expect("batchMintReleaseSchedule", [["0", "D", 5]], () => 0);

  await send("mintTokenType", [at("A"), 11, 3]);
  told.expect("mintTokenType", [["0", "A", 11]]);
  await send("mintReleaseScheduleTokenType", [at("J"), 78, begun, 0, 3, []]);
  told.expect("mintReleaseScheduleTokenType", [["0", "J", 78]], () => 0);
  await send("batchMintReleaseScheduleTokenType", [
    [at("D"), at("D")],
    [6, 6],
    [begun, begun],
    [1, 0],
    [3, 4],
    [],
  ]);
  told.expect("batchMintReleaseScheduleTokenType", [["0", "D", 6]], () => 1);
  told.expect("batchMintReleaseScheduleTokenType", [["0", "D", 6]], () => 0);

  const funding = (to: string, amount: number, scheduleId: number) => ({
    to: at(to),
    amount,
    commencementTimestamp: begun,
    scheduleId,
    holdingIndex: 0,
  });
  await send("fundReleaseScheduleWithHolding", [funding("J", 9, 1), []]);
  told.expect("fundReleaseScheduleWithHolding", [["A", "J", 9]], () => 1);
  await send("batchFundReleaseScheduleWithHolding", [
    [funding("J", 4, 0), funding("D", 4, 1), funding("J", 4, 1)],
    [],
  ]);
  told.expect("batchFundReleaseScheduleWithHolding", [["A", "J", 4]], () => 0);
  told.expect("batchFundReleaseScheduleWithHolding", [["A", "D", 4]], () => 1);
  told.expect("batchFundReleaseScheduleWithHolding", [["A", "J", 4]], () => 1);

  await send("transferHolding", [at("E"), 8, 0]);
  told.expect("transferHolding", [["A", "E", 8]]);
  await send("softBurn", [at("A"), 3]);
  told.expect("softBurn", [["A", "0", 3]]);
  await send("burnHolding", [at("A"), 2, 0]);
  told.expect("burnHolding", [["A", "0", 2]]);
};
