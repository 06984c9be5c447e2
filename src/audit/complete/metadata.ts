/**
 * Metadata of coins, which no function of the contract makes. `CoinMetadata` comes with the coin's
 * package, by its one-time witness; a node names further objects (`Currency`), as a hint.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { COIN_METADATA, CURRENCY } from "../../ledger/contract/names.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import { guidedFrom } from "../../log/guided.ts";
import { FRAMEWORK, splitType } from "../../values/move-type.ts";
import type { Gap } from "./chains.ts";
import type { NotShown } from "./heads.ts";
import { walkBack } from "./object-walk.ts";
import { WalkEndedError, type WholeCheckpoints } from "./whole-checkpoints.ts";

type CheckMetadata = {
  readonly sql: Sql;
  readonly index: LedgerIndex;
  readonly checkpoints: WholeCheckpoints;
  /** Metadata created before the log begins is not in it. */
  readonly first: bigint;
  readonly through: bigint;
};

type Found = { readonly gaps: readonly Gap[]; readonly notShown: readonly NotShown[] };

/** Whether the log has the metadata that was created up to its end. */
export const checkMetadata = async (
  asked: CheckMetadata,
  coins: readonly string[],
  signal: AbortSignal,
): Promise<Found> => {
  const gaps: Gap[] = [];
  const notShown: NotShown[] = [];
  const read = await readOf(asked, coins);
  for (const coinType of coins) {
    try {
      for (const created of await metadataOf(asked, coinType, signal)) {
        const { checkpoint: at } = created;
        if (at < asked.first || at > asked.through || read.has(created.id)) continue;
        const { id: objectId, version, checkpoint } = created;
        if (await isBeforeCoin(asked, coinType, checkpoint)) {
          const where = `its metadata object ${objectId}, version ${version}, of checkpoint ${checkpoint}`;
          const why = "was read guided before the token was known; a log takes no earlier facts";
          notShown.push({ coinType, what: `metadata: ${where}, is not in the log, which ${why}` });
          continue;
        }
        const what = `this metadata object was created at checkpoint ${checkpoint}, which was not read`;
        gaps.push({ coinType, objectId, version, from: checkpoint, what });
      }
    } catch (error) {
      if (!(error instanceof WalkEndedError)) throw error;
      notShown.push({ coinType, what: `metadata: ${error.message}` });
    }
  }
  return { gaps, notShown };
};

type Created = { readonly id: string; readonly version: bigint; readonly checkpoint: bigint };

const metadataOf = async (
  { index, checkpoints }: CheckMetadata,
  coinType: string,
  signal: AbortSignal,
): Promise<readonly Created[]> => {
  const types = [COIN_METADATA, CURRENCY].map((name) => `${FRAMEWORK}::${name}<${coinType}>`);
  const created = new Map<string, Created>();
  const { address } = splitType(coinType);
  const published = (await index.heads([address], signal)).get(address) ?? null;
  const at = published && (await index.checkpointOf(published.previousTransaction, signal));
  const whole = at === null ? null : await checkpoints.read(at, signal);
  const publishing = whole?.checkpoint.transactions.find(({ packages }) =>
    packages.some(({ id }) => id === address),
  );
  if (whole === null || publishing === undefined) {
    throw new WalkEndedError(`${index.description} does not show the publication of ${address}`);
  }
  for (const { id, version, type } of publishing.outputObjects) {
    if (!types.includes(type)) continue;
    created.set(id, { id, version, checkpoint: whole.checkpoint.sequence });
  }
  const hints = (await index.metadataOf(coinType, signal)).filter((id) => !created.has(id));
  const heads = hints.length === 0 ? new Map<string, null>() : await index.heads(hints, signal);
  for (const id of hints) {
    const head = heads.get(id) ?? null;
    if (head === null) continue;
    for await (const { version, before, whole: step, transaction } of walkBack(
      { index, checkpoints },
      id,
      head,
      signal,
    )) {
      const isOfCoin = transaction.outputObjects.some(
        (object) => object.id === id && types.includes(object.type),
      );
      if (!isOfCoin) break;
      const { sequence: checkpoint } = step.checkpoint;
      if (before === null) created.set(id, { id, version, checkpoint });
    }
  }
  return [...created.values()];
};

/**
 * Whether a checkpoint was read guided in an earlier batch than the coin's first object: its
 * package can be older than its treasury, and a log has no metadata of coins that it does not know.
 */
const isBeforeCoin = async (
  { sql }: CheckMetadata,
  coinType: string,
  checkpoint: bigint,
): Promise<boolean> => {
  const batch = await guidedFrom({ sql }, checkpoint);
  if (batch === null || batch.first > checkpoint) return false;
  const [row] = await sql`
    select from log_facts
    where public.log_has(0) and coin_type = ${coinType} and kind = 1 and checkpoint <= ${batch.last}
      and name not in (${COIN_METADATA}, ${CURRENCY}) limit 1`;
  return row === undefined;
};

/** Metadata objects of the coins in the log. */
const readOf = async (
  { sql, through }: CheckMetadata,
  coins: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await sql<{ object_id: string }[]>`
    select distinct object_id from log_facts
    where public.log_has(0) and kind = 1 and checkpoint <= ${through} and coin_type = any(${texts(coins)}::text[])
      and name in (${COIN_METADATA}, ${CURRENCY})`;
  return new Set(rows.map((row) => row.object_id));
};
