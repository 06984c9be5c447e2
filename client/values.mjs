/** Values of GraphQL answers as exact ones: what the schema gives as decimal text becomes a `bigint`. */

const DECIMAL = new Set([
  "amount",
  "balance",
  "balanceAfter",
  "change",
  "checkpoint",
  "checkpointTimestamp",
  "checkpointTimestampMs",
  "commencementTimestampMs",
  "delayUntilFirstReleaseMs",
  "firstCheckpoint",
  "followPosition",
  "granted",
  "groupId",
  "historyCheckpoint",
  "historyFilledThrough",
  "holderId",
  "initialReleasePortionBps",
  "issued",
  "leftBalance",
  "locked",
  "periodBetweenReleasesMs",
  "position",
  "rebuildingTo",
  "releaseCount",
  "releaseScheduleId",
  "timelockBalance",
  "tokens",
  "tokensTransferred",
  "totalAmount",
  "totalSupply",
  "unlocked",
  "until",
  "version",
]);

/** The same with exact numbers, all the way down. */
export const exact = (value) => {
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === "string" && DECIMAL.has(name) && /^-?\d+$/.test(one)
        ? BigInt(one)
        : exact(one),
    ]),
  );
};
