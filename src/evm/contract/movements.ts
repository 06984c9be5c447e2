import { decodeFunctionData, type Hex } from "viem";
import { type Address, lowerCase, zeroAddress } from "./fact.ts";
import { movingFunctions } from "./functions.ts";

export type Movement = {
  /** Absent where the contract decides (the caller, a timelock's owner). */
  readonly from?: Address;
  readonly to?: Address;
  readonly amount: bigint;
};

/**
 * Movements that a call requests; undefined where the arguments do not determine them (a cancel
 * computes its amounts) or do not decode.
 */
export const movementsOf = (input: Hex): readonly Movement[] | undefined => {
  try {
    return asked(input);
  } catch {
    return undefined;
  }
};

const asked = (input: Hex): readonly Movement[] | undefined => {
  const { functionName, args } = decodeFunctionData({ abi: movingFunctions, data: input });
  switch (functionName) {
    case "transfer":
    case "transferTimelock":
    case "fundReleaseSchedule":
    case "transferHolding":
      return [{ to: lowerCase(args[0]), amount: args[1] }];
    case "mint":
    case "mintTokenType":
    case "mintReleaseSchedule":
    case "mintReleaseScheduleTokenType":
      return [{ from: zeroAddress, to: lowerCase(args[0]), amount: args[1] }];
    case "transferFrom":
    case "forceTransferBetween":
      return [{ from: lowerCase(args[0]), to: lowerCase(args[1]), amount: args[2] }];
    case "softBurn":
    case "burnHolding":
      return [{ from: lowerCase(args[0]), to: zeroAddress, amount: args[1] }];
    case "batchTransfer":
    case "batchFundReleaseSchedule":
      return args[0].map((to, i) => ({ to: lowerCase(to), amount: args[1][i] ?? 0n }));
    case "batchMintReleaseSchedule":
    case "batchMintReleaseScheduleTokenType":
      return args[0].map((to, i) => ({
        from: zeroAddress,
        to: lowerCase(to),
        amount: args[1][i] ?? 0n,
      }));
    case "fundReleaseScheduleWithHolding":
      return [{ to: lowerCase(args[0].to), amount: args[0].amount }];
    case "batchFundReleaseScheduleWithHolding":
      return args[0].map(({ to, amount }) => ({ to: lowerCase(to), amount }));
    case "burn": {
      const [first, second] = args;
      if (typeof first === "string") {
        return [{ from: lowerCase(first), to: zeroAddress, amount: second ?? 0n }];
      }
      // In a timelock only the contract knows the amount; otherwise the caller's own tokens burn.
      return second === undefined ? [{ to: zeroAddress, amount: first }] : undefined;
    }
    case "cancelTimelock":
      return undefined;
  }
};
