/**
 * Roots of version 2: each is one entry of the deployment's sequence, so that none can be exchanged or dated
 * back without breaking what others keep of the sequence.
 */
import { type Root2, rootBody } from "../../../client/verify-statement.ts";
import type { Sql } from "../../database/connect.ts";
import type { Reads } from "../../database/readers.ts";
import { appendOnce, coinEntries, coinEntry } from "./coin-entries.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import { comparedOf, type PublishedRoot, RootConflictError } from "./published-roots.ts";
import { type EntryBody, type SequenceEntry, textIn } from "./sequence.ts";

/** The entry that published the root of a token at a checkpoint; undefined when none did. */
export const rootEntryOf = (
  sql: Sql,
  of: { readonly coinType: string; readonly checkpoint: bigint },
): Promise<SequenceEntry | undefined> => coinEntry(sql, { kind: "root", ...of });

/**
 * Publishes a root as an entry of the sequence, unless this key has published it before; returns that entry.
 * @param sql of a transaction
 * @throws RootConflictError (stop) when another one was published
 */
export const publishRoot2 = (sql: Sql, key: DeploymentKey, made: Root2): Promise<SequenceEntry> => {
  const of = {
    kind: "root",
    coinType: made.coinType,
    checkpoint: BigInt(made.checkpoint),
  } as const;
  return appendOnce(
    sql,
    key,
    of,
    rootBody(made),
    (before) => new RootConflictError(comparedOf(before), made),
  );
};

/** Null where they were not known then. */
const decimalsIn = (body: EntryBody): string | null =>
  body.decimals === null ? null : textIn(body, "decimals");

/** A root of version 2 as it is given out, with the entry that published it. */
export type PublishedRoot2 = PublishedRoot & {
  readonly version: "2";
  readonly decimals: string | null;
  readonly checkpointTimestampMs: string;
  readonly number: string;
  readonly previous: string;
};

/** Roots of version 2 of a token, the newest checkpoint first: below `before` where that is given. */
export const publishedRoots2 = async (
  on: Reads,
  query: Omit<Parameters<typeof coinEntries>[1], "kind">,
): Promise<readonly PublishedRoot2[]> => {
  const entries = await coinEntries(on, { kind: "root", ...query });
  return entries.map(({ body, number, previous, at, keyId, signature }) => ({
    chainId: textIn(body, "chainId"),
    coinType: query.coinType,
    checkpoint: textIn(body, "checkpoint"),
    ...comparedOf(body),
    keyId,
    signature,
    signedAt: at,
    version: "2",
    decimals: decimalsIn(body),
    checkpointTimestampMs: textIn(body, "checkpointTimestampMs"),
    number,
    previous,
  }));
};
