/** Signers of saved heads and entries, and the evidence for their keys. */
import { isLogHeadSigned } from "../../../client/verify-log-head.ts";
import { SequenceError, verifySequence } from "../../../client/verify-sequence.ts";
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";
import { isSigned, keyIdOf } from "../sequence/deployment-key.ts";
import { keyHistory, type ListedKey } from "../sequence/key-history.ts";
import { chainIdOf, type SequenceEntry, textIn } from "../sequence/sequence.ts";
import type { Kept } from "./kept-files.ts";

export type KeptSigned = {
  readonly faults: readonly LogFault[];
  /** Ids of the given key and of the later keys that its signatures lead to. */
  readonly trusted: ReadonlySet<string>;
  /** Number signed with one of those. */
  readonly given: number;
  /** Number signed with keys known only from the database, by id. */
  readonly named: ReadonlyMap<string, number>;
  /** Number that could not be verified, by reason. */
  readonly open: ReadonlyMap<string, number>;
  /** Why entries do not lead from the given key to later ones, if one was lost or revoked. */
  readonly why: readonly string[];
};

/**
 * @param given the deployment's public key, as the caller knows it, base64; undefined: trust the
 * database's
 */
export const checkSignatures = async (
  sql: Sql,
  kept: readonly Kept[],
  given: string | undefined,
): Promise<KeptSigned> => {
  const faults: LogFault[] = [];
  const [named, open] = [new Map<string, number>(), new Map<string, number>()];
  const count = (of: Map<string, number>, what: string) => of.set(what, (of.get(what) ?? 0) + 1);
  const chainId = await chainIdOf(sql);
  const history = await keyHistory({ sql });
  const from = given === undefined ? undefined : await keysFrom(sql, history.entries, given);
  faults.push(...(from?.faults ?? []));
  const trusted = from?.keys ?? new Map<string, string>();
  const revoked = new Map(history.keys.map((key) => [key.keyId, key.revoked]));
  const listed = new Map(
    history.keys
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
    const isLedTo = from?.isNewest === true && !one.isHead;
    const unshown = isLedTo ? undefined : leftOpen(one, revoked.get(keyId) ?? null);
    if (what !== null) faults.push({ checkpoint: 0n, what: `${name}: ${what}` });
    else if (unshown !== undefined) count(open, unshown);
    else if (trusted.has(keyId)) byGiven += 1;
    else count(named, keyId);
  }
  const why = from?.why ?? [];
  return { faults, trusted: new Set(trusted.keys()), given: byGiven, named, open, why };
};

/** The given key and those that entries lead to from it, by id. */
const keysFrom = async (sql: Sql, entries: readonly SequenceEntry[], given: string) => {
  const keys = (texts: readonly string[]) => new Map(texts.map((text) => [keyIdOf(text), text]));
  const isNewest = await signedTheEnd(sql, keyIdOf(given));
  // The entries' hashes, which verify --log checks, lead back to every key they name.
  const ledTo = isNewest ? await keysNamed(sql) : [];
  if (isNewest || entries.length === 0) {
    return { keys: keys([given, ...ledTo]), why: [], faults: [], isNewest };
  }
  try {
    const known = { publicKey: given, otherKeys: "passed over", isSigned } as const;
    const found = await verifySequence(entries, known);
    return { keys: keys(found.keys), why: found.why, faults: [], isNewest };
  } catch (error) {
    if (!(error instanceof SequenceError)) throw error;
    const faults = [{ checkpoint: 0n, what: error.message }];
    return { keys: keys([given]), why: [], faults, isNewest };
  }
};

const signedTheEnd = async (sql: Sql, keyId: string): Promise<boolean> => {
  const [last] = await sql<{ keyId: string }[]>`
    select key_id as "keyId" from log_sequence order by number desc limit 1`;
  return last?.keyId === keyId;
};

const keysNamed = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ publicKey: string }[]>`
    select coalesce(body::jsonb ->> 'publicKey', '') as "publicKey" from log_sequence where kind = 'key'`;
  return rows.map(({ publicKey }) => publicKey);
};

/** What a revocation leaves unproven of a saved item; undefined if nothing. */
const leftOpen = ({ isHead, number }: Kept, revoked: ListedKey["revoked"]): string | undefined => {
  if (revoked === null) return undefined;
  const { entry, from } = revoked;
  if (isHead)
    return `entry ${entry} revokes the key from entry ${from} on, and a head names no entry`;
  return BigInt(number) < BigInt(from)
    ? undefined
    : `entry ${entry} revokes the key from ${from} on`;
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
