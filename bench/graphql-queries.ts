/** The nine queries as measured: every field, arguments as variables. */

export const FIELDS = {
  tokenActivity:
    "activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType decimals fromAddress toAddress signer tokenObjectId",
  tokenBalance:
    "owner balance objectCount timelockBalance timelockCount timelocksIncluded decimals",
  tokenObjects: "objectId owner balance version checkpoint",
  tokenHolders: "owner balance timelockBalance timelocksIncluded",
  tokenTimelocks:
    "objectId owner funder releaseScheduleId releaseCount delayUntilFirstReleaseMs periodBetweenReleasesMs initialReleasePortionBps commencementTimestampMs totalAmount tokensTransferred leftBalance decimals",
  holderEvents: "eventType eventId position holderId address groupId isFrozen checkpointTimestamp",
  walletRoles: "owner roleBits roles",
  roleEvents: "eventId position owner role roleBit granted signer checkpointTimestamp",
  indexerStatus: "pipeline checkpoint checkpointTimestamp ageSeconds",
} as const;

export type QueryName = keyof typeof FIELDS;

const VARIABLE_TYPES = {
  coinType: "String!",
  owner: "String!",
  limit: "Int",
  after: "String",
  sinceTimestamp: "String",
  order: "SortOrder",
  atCheckpoint: "String",
} as const;

export type Variables = Readonly<Partial<Record<keyof typeof VARIABLE_TYPES, string | number>>>;

/** A query, or `__typename` alone, which needs no database. */
export type Question = { readonly name: QueryName | "__typename"; readonly variables: Variables };

export const bodyOf = ({ name, variables }: Question): string => {
  if (name === "__typename") return JSON.stringify({ query: "{ __typename }" });
  const given = Object.entries(VARIABLE_TYPES).filter(([variable]) => variable in variables);
  const bracketed = (parts: readonly string[]) =>
    parts.length === 0 ? "" : `(${parts.join(", ")})`;
  const declared = bracketed(given.map(([variable, type]) => `$${variable}: ${type}`));
  const passed = bracketed(given.map(([variable]) => `${variable}: $${variable}`));
  const query = `query ${declared} { ${name}${passed} { ${FIELDS[name]} } }`;
  return JSON.stringify({ query, variables });
};
