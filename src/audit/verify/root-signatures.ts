/** Checks version-1 roots against the signatures in their rows. */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { signedRoot } from "../../../client/verify-statement.ts";
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import type { DeploymentKey } from "../sequence/deployment-key.ts";
import { isSigned } from "../sequence/deployment-key.ts";
import { enterRoot, type Root } from "../sequence/published-roots.ts";

type Row = Root & {
  readonly keyId: string;
  readonly signature: string;
  readonly publicKey: string;
};

const ROWS = `
  select (select chain_id from log_high_water) as "chainId", r.coin_type as "coinType",
         r.checkpoint::text as checkpoint, r.checkpoint_digest as "checkpointDigest", r.root, r.total,
         r.key_id as "keyId", r.signature, k.public_key as "publicKey"
  from published_roots r join deployment_keys k using (key_id)`;

/** First root whose row does not match its signature; null if none. */
export const rootFault = async (sql: Sql, signal: AbortSignal): Promise<LogFault | null> => {
  const rows = sql.unsafe<Row[]>(ROWS);
  for await (const page of rows.cursor(1_000)) {
    signal.throwIfAborted();
    const wrong = page.find((row) => !isGenuine(row));
    if (wrong === undefined) continue;
    const what = `published_roots: the root of ${wrong.coinType} is not what the key ${wrong.keyId} signed: its row was changed`;
    return { checkpoint: BigInt(wrong.checkpoint), what };
  }
  return null;
};

const isGenuine = ({ keyId: _, publicKey, signature, ...root }: Row): boolean =>
  isSigned(signature, canonicalJson(signedRoot(root)), publicKey);

/** Roots that another version signed without entering them in the sequence. */
const BESIDE = `
  ${ROWS}
  where not exists (select from coin_entries e where e.kind = 'root1'
                    and e.coin_type = r.coin_type and e.checkpoint = r.checkpoint)
  order by r.signed_at offset coalesce(
    (select (body::jsonb -> 'roots' ->> 'count')::int8 from log_sequence where number = 0), 9e18::int8)`;

/**
 * Appends valid roots that are neither sequence entries nor covered by the first one.
 * @param sql of a transaction
 */
export const enterRoots = async (sql: Sql, key: DeploymentKey): Promise<void> => {
  for (const row of await sql.unsafe<Row[]>(BESIDE))
    if (isGenuine(row)) await enterRoot(sql, key, row);
};
