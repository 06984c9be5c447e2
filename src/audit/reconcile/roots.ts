/**
 * Compares published roots with the register's cap tables. Signatures and the sequence only show
 * who published a root and when: the key's holder could sign a wrong one.
 */
import type { Db, Sql } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { publishedRoots2, publishedRootsOf, type StoredRoot } from "../sequence/published-roots.ts";
import { tableRoots } from "../sequence/table-roots.ts";
import type { Findings } from "./findings.ts";

/** Checkpoints per token: the newest ten, others at random. */
const NEWEST = 10;
const MOST = 30;

/** Number of checkpoints with a published root, and of those compared. */
type RootsCompared = { readonly published: number; readonly compared: number };

type Place = {
  readonly checkpoint: bigint;
  readonly published: bigint;
  readonly decimals: number | null;
};

const placesOf = (sql: Sql, coinType: string, through: bigint) => sql<Place[]>`
  with places as (
    select checkpoint, row_number() over (order by checkpoint desc) as age, count(*) over () as published
    from (select checkpoint from published_roots where coin_type = ${coinType}
          union select checkpoint from coin_entries
          where coin_type = ${coinType} and kind in ('root', 'root1')) p
    where checkpoint <= ${through}
  )
  select checkpoint, published, (select decimals from log_coins where coin_type = ${coinType})
  from places order by age > ${NEWEST}, case when age > ${NEWEST} then random() end, age limit ${MOST}`;

/**
 * @param from first checkpoint with history
 * @param through last checkpoint of the snapshot
 */
export const reconcileRoots = async (
  tx: Db,
  coinType: string,
  { chainId, from, through }: { chainId: string | null; from: bigint; through: bigint },
  found: Findings,
): Promise<RootsCompared> => {
  const places = await placesOf(tx.sql, coinType, through);
  let compared = 0;
  for (const { checkpoint, decimals } of places) {
    const mark = checkpoint < from ? null : await checkpointMark(tx, checkpoint);
    if (mark === null) continue;
    compared += 1;
    const table = { coinType, decimals, mark, totalSupply: null };
    const made = await tableRoots({ db: tx, sql: tx.sql }, chainId ?? "", table);
    const asked = { coinType, checkpoint, limit: 1 };
    const said = [
      ["published_roots", made.version1, await publishedRootsOf(tx, asked)],
      ["log_sequence", made.version2, await publishedRoots2(tx, asked)],
    ] as const;
    for (const [where, root, [published]] of said) {
      if (published === undefined || root === null || isSame(published, root)) continue;
      found.add(
        `${where}, ${coinType}, checkpoint ${checkpoint}: the published root is ${shown(published)}, but the cap table gives ${shown(root)}`,
      );
    }
  }
  return { published: Number(places[0]?.published ?? 0n), compared };
};

const isSame = (one: StoredRoot, other: StoredRoot): boolean => shown(one) === shown(other);

const shown = ({ root, total, checkpointDigest }: StoredRoot): string =>
  `${root}, total ${total}, checkpoint digest ${checkpointDigest}`;
