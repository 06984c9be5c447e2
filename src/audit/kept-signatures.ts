/** Who signed the heads and entries that somebody kept, and what shows whose key that is. */
import { isLogHeadSigned } from "../../client/verify-log-head.mjs";
import { SequenceError, verifySequence } from "../../client/verify-sequence.mjs";
import type { Sql } from "../database/connect.ts";
import type { LogFault } from "../log/chain.ts";
import { keyIdOf, publicDeploymentKeys } from "./deployment-key.ts";
import { isSigned } from "./is-signed.ts";
import type { Kept } from "./kept.ts";
import { chainIdOf } from "./log-heads.ts";
import { entriesAt, textIn } from "./sequence.ts";

export type KeptSigned = {
  readonly faults: readonly LogFault[];
  /** Ids of the key that the caller gave, and of those that signatures with it name as the next. */
  readonly trusted: ReadonlySet<string>;
  /** How many are signed with one of those. */
  readonly given: number;
  /** How many are signed with a key that the database alone names, by its id. */
  readonly named: ReadonlyMap<string, number>;
  /** How many could not be verified, by why. */
  readonly open: ReadonlyMap<string, number>;
};

/** @param given the deployment's public key, as the caller knows it, base64; undefined: the database's are believed */
export const checkSignatures = async (
  sql: Sql,
  kept: readonly Kept[],
  given: string | undefined,
): Promise<KeptSigned> => {
  const faults: LogFault[] = [];
  const [named, open] = [new Map<string, number>(), new Map<string, number>()];
  const count = (of: Map<string, number>, what: string) => of.set(what, (of.get(what) ?? 0) + 1);
  const chainId = await chainIdOf(sql);
  const trusted = given === undefined ? new Map<string, string>() : await keysFrom(sql, given);
  const listed = new Map(
    (await publicDeploymentKeys({ sql }))
      .filter(({ keyId, publicKey }) => keyIdOf(publicKey) === keyId)
      .map(({ keyId, publicKey }) => [keyId, publicKey]),
  );
  if (given !== undefined && !listed.has(keyIdOf(given))) {
    const what =
      "deployment_keys does not have the key given: what is signed here is signed with others";
    faults.push({ checkpoint: 0n, what });
  }
  let byGiven = 0;
  for (const one of kept) {
    const { keyId, signature, name } = one;
    if (keyId === undefined || signature === undefined) {
      count(open, "the file does not have the signature");
      continue;
    }
    const publicKey = trusted.get(keyId) ?? listed.get(keyId);
    if (publicKey === undefined) {
      count(open, `deployment_keys does not have ${keyId}`);
      continue;
    }
    const what = await wrongIn(one, { keyId, signature, publicKey, chainId });
    if (what !== null) faults.push({ checkpoint: 0n, what: `${name}: ${what}` });
    else if (trusted.has(keyId)) byGiven += 1;
    else count(named, keyId);
  }
  return { faults, trusted: new Set(trusted.keys()), given: byGiven, named, open };
};

/** The key given, and those that entries name which it, or one of them, signed: by their ids. */
const keysFrom = async (sql: Sql, given: string): Promise<ReadonlyMap<string, string>> => {
  const keys = new Map([[keyIdOf(given), given]]);
  const numbers = await sql<{ number: bigint }[]>`
    select number from log_sequence where kind = 'key' and number > 0 order by number`;
  const entries = await entriesAt(
    { sql },
    numbers.map(({ number }) => number),
  );
  for (const { number } of numbers) {
    const entry = entries.get(number);
    const publicKey = keys.get(entry?.keyId ?? "");
    if (entry === undefined || publicKey === undefined) continue;
    if ((await sequenceFault(entry, publicKey)) !== null) continue;
    const next = textIn(entry.body, "publicKey");
    keys.set(keyIdOf(next), next);
  }
  return keys;
};

type Signer = {
  readonly keyId: string;
  readonly signature: string;
  readonly publicKey: string;
  readonly chainId: string | null;
};

const wrongIn = async (
  { isHead, number, previous, kind, body, at }: Kept,
  { keyId, signature, publicKey, chainId }: Signer,
): Promise<string | null> => {
  if (!isHead) {
    return sequenceFault({ number, previous, kind, body, at, keyId, signature }, publicKey);
  }
  const head = { checkpoint: textIn(body, "checkpoint"), hash: textIn(body, "hash"), signature };
  const said = textIn(body, "chainId");
  return isLogHeadSigned(head, { chainId: said === "" ? chainId : said, publicKey })
    ? null
    : `it is not signed with the key ${keyId}`;
};

const sequenceFault = async (entry: unknown, publicKey: string): Promise<string | null> => {
  try {
    await verifySequence([entry], { publicKey, isSigned });
    return null;
  } catch (error) {
    if (error instanceof SequenceError) return error.message;
    throw error;
  }
};
