/** Functions of the security-token contracts: `method_name` names, and this system's own calls. */
import { type AbiFunction, type Hex, parseAbi, toFunctionSelector } from "viem";
import type { Version } from "./generations.ts";

/** Functions that move tokens and may cause a Transfer log. */
export const movingFunctions = parseAbi([
  "function transfer(address to, uint256 amount)",
  "function transferFrom(address from, address to, uint256 amount)",
  "function transferTimelock(address to, uint256 amount, uint256 timelockId)",
  "function fundReleaseSchedule(address to, uint256 amount, uint256 commencementTimestamp, uint256 scheduleId, address[] cancelableBy)",
  "function batchFundReleaseSchedule(address[] to, uint256[] amounts, uint256[] commencementTimestamps, uint256[] scheduleIds, address[] cancelableBy)",
  "function cancelTimelock(address target, uint256 timelockIndex, uint256 scheduleId, uint256 commencementTimestamp, uint256 amount, address reclaimTokenTo)",
  "function cancelTimelock(address target, uint256 timelockIndex)",
  "function mint(address to, uint256 amount)",
  "function burn(uint256 amount)",
  "function burn(address from, uint256 amount)",
  "function burn(uint256 timelockIndex, uint256 confirmationId)",
  "function forceTransferBetween(address from, address to, uint256 amount)",
  "function batchTransfer(address[] to, uint256[] amounts)",
  "function mintTokenType(address to, uint256 amount, uint256 tokenType)",
  "function mintReleaseSchedule(address to, uint256 amount, uint256 commencementTimestamp, uint256 scheduleId, address[] cancelableBy)",
  "function batchMintReleaseSchedule(address[] to, uint256[] amounts, uint256[] commencementTimestamps, uint256[] scheduleIds, address[] cancelableBy)",
  "function mintReleaseScheduleTokenType(address to, uint256 amount, uint256 commencementTimestamp, uint256 scheduleId, uint256 tokenType, address[] cancelableBy)",
  "function batchMintReleaseScheduleTokenType(address[] to, uint256[] amounts, uint256[] commencementTimestamps, uint256[] scheduleIds, uint256[] tokenTypes, address[] cancelableBy)",
  "function fundReleaseScheduleWithHolding((address to, uint256 amount, uint256 commencementTimestamp, uint256 scheduleId, uint256 holdingIndex) funding, address[] cancelableBy)",
  "function batchFundReleaseScheduleWithHolding((address to, uint256 amount, uint256 commencementTimestamp, uint256 scheduleId, uint256 holdingIndex)[] fundings, address[] cancelableBy)",
  "function transferHolding(address to, uint256 amount, uint256 holdingIndex)",
  "function softBurn(address from, uint256 amount)",
  "function burnHolding(address from, uint256 amount, uint256 holdingIndex)",
]);

/** Administrative functions, which never move a token; a relay may call them beside a movement. */
const quietFunctions = parseAbi([
  "function approve(address spender, uint256 amount)",
  "function increaseAllowance(address spender, uint256 amount)",
  "function decreaseAllowance(address spender, uint256 amount)",
  "function createReleaseSchedule(uint256 releaseCount, uint256 delayUntilFirstReleaseInSeconds, uint256 initialReleasePortionInBips, uint256 periodBetweenReleasesInSeconds)",
  "function setTransferGroup(address addr, uint256 groupId)",
  "function setTransferGroup(address addr, uint256 groupId, bool applyToHolder)",
  "function setAddressPermissions(address addr, uint256 groupId, uint256 lockedUntil, uint256 maxBalance, bool frozen)",
  "function setAddressPermissions(address addr, uint256 groupId, bool frozen)",
  "function setAllowGroupTransfer(uint256 from, uint256 to, uint256 lockedUntil)",
]);

export const tokenReads = parseAbi([
  "function name() view returns (string)",
  "function symbol() view returns (string)",
  "function decimals() view returns (uint8)",
  "function totalSupply() view returns (uint256)",
  "function contractVersion() view returns (string)",
  "function releaseSchedules(uint256 scheduleId) view returns (uint256 releaseCount, uint256 delayUntilFirstReleaseInSeconds, uint256 initialReleasePortionInBips, uint256 periodBetweenReleasesInSeconds)",
]);

/** First four bytes of a call's input, in lower case; undefined when there are fewer. */
export const selectorOf = (input: Hex): Hex | undefined => {
  if (input.length < 10) return undefined;
  const selector = input.slice(0, 10).toLowerCase();
  return `0x${selector.slice(2)}`;
};

const bySelector = <F extends AbiFunction>(functions: readonly F[]): ReadonlyMap<Hex, F> =>
  new Map(functions.map((item) => [toFunctionSelector(item), item]));

/** A selector has the same name in every generation. */
export const movingBySelector = bySelector(movingFunctions);

export const quietBySelector = bySelector(quietFunctions);

const everywhere: readonly Version[] = [1, 2, 3, 4, 5];

/**
 * Generations with a moving function. v5's functions count as v4's too, whose code is not public.
 */
export const versionsOf = (selector: Hex): readonly Version[] => known.get(selector) ?? [4, 5];

const known: ReadonlyMap<Hex, readonly Version[]> = new Map(
  (
    [
      ["transfer(address,uint256)", everywhere],
      ["transferFrom(address,address,uint256)", everywhere],
      ["transferTimelock(address,uint256,uint256)", everywhere],
      ["fundReleaseSchedule(address,uint256,uint256,uint256,address[])", everywhere],
      ["batchFundReleaseSchedule(address[],uint256[],uint256[],uint256[],address[])", everywhere],
      ["cancelTimelock(address,uint256,uint256,uint256,uint256,address)", everywhere],
      ["cancelTimelock(address,uint256)", [1]],
      ["mint(address,uint256)", everywhere],
      ["burn(uint256)", [1]],
      ["burn(uint256,uint256)", [1]],
      ["burn(address,uint256)", [2, 3, 4, 5]],
      ["forceTransferBetween(address,address,uint256)", [3, 4, 5]],
      ["batchTransfer(address[],uint256[])", [3, 4, 5]],
    ] as const
  ).map(([signature, versions]) => [toFunctionSelector(signature), versions]),
);
