/**
 * Compares published roots with the register's cap tables. Signatures and the sequence only show
 * who published a root and when: the key's holder could sign a wrong one.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import type { Db, Sql } from "../../database/connect.ts";
import { checkpointMark } from "../../log/blocks.ts";
import { token } from "../../projections/tokens.ts";
import { publishedRoots2, publishedRootsOf, type StoredRoot } from "../sequence/published-roots.ts";
import type { WrongRoot } from "../sequence/root-corrections.ts";
import { tableRoots } from "../sequence/table-roots.ts";

/** Checkpoints per token: the newest ten, others at random. */
const NEWEST = 10;
const OTHERS = 20;

/** Number of checkpoints with a published root, and of those compared. */
type RootsCompared = { readonly published: number; readonly compared: number };

type Place = {
  readonly checkpoint: bigint;
  readonly published: bigint;
  readonly decimals: number | null;
};

const placesOf = (sql: Sql, coinType: string, through: bigint, allFrom: bigint) => sql<Place[]>`
  with places as (
    select checkpoint, row_number() over (order by checkpoint desc) as age, count(*) over () as published,
           (select decimals from log_coins where coin_type = ${coinType})
    from (select checkpoint from published_roots where coin_type = ${coinType}
          union select checkpoint from coin_entries
          where coin_type = ${coinType} and kind in ('root', 'root1')) p
    where checkpoint <= ${through}
  )
  select * from places where age <= ${NEWEST} or checkpoint >= ${allFrom}
  union all
  (select * from places where age > ${NEWEST} and checkpoint < ${allFrom}
   order by random() limit ${OTHERS})
  order by checkpoint`;

/** A published root that the cap table does not give. */
export type RootDifference = {
  /** In words, for an operator. */
  readonly what: string;
  /** For `correctRoots`; null: more than rows of the cap table differ, or they are wrong, too. */
  readonly wrong: WrongRoot | null;
};

const NONE = 2n ** 63n - 1n;

/**
 * @param from first checkpoint with history
 * @param through last checkpoint of the snapshot
 * @param allFrom every root from this checkpoint on is compared; of the others, the newest ten and some at random
 */
export const reconcileRoots = async (
  tx: Db,
  coinType: string,
  {
    chainId,
    from,
    through,
    allFrom = NONE,
  }: {
    readonly chainId: string | null;
    readonly from: bigint;
    readonly through: bigint;
    readonly allFrom?: bigint | undefined;
  },
  onDifference: (difference: RootDifference) => void,
): Promise<RootsCompared> => {
  const places = await placesOf(tx.sql, coinType, through, allFrom);
  let compared = 0;
  for (const { checkpoint, decimals } of places) {
    const mark = checkpoint < from ? null : await checkpointMark(tx, checkpoint);
    if (mark === null) continue;
    compared += 1;
    const table = { coinType, decimals, mark, totalSupply: null };
    const made = await tableRoots({ db: tx, sql: tx.sql }, chainId ?? "", table);
    const asked = { coinType, checkpoint, limit: 1 };
    const said = [
      ["published_roots", "1", made.version1, await publishedRootsOf(tx, asked)],
      ["log_sequence", "2", made.version2, await publishedRoots2(tx, asked)],
    ] as const;
    for (const [where, version, root, [published]] of said) {
      if (published === undefined || root === null) continue;
      const is = { ...published, ...published.corrections.at(-1)?.to };
      if (isSame(is, root)) continue;
      const supply = (await token(tx, { coinType, at: checkpoint }))?.totalSupply ?? null;
      const isCorrectable =
        restOf(is) === restOf(root) && (supply === null || `${supply}` === root.total);
      onDifference({
        what: `${where}, ${coinType}, checkpoint ${checkpoint}: the published root is ${shown(is)}, but the cap table gives ${shown(root)}`,
        wrong: isCorrectable
          ? {
              coinType,
              version,
              checkpoint: `${checkpoint}`,
              from: rootAndTotal(is),
              to: rootAndTotal(root),
            }
          : null,
      });
    }
  }
  return { published: Number(places[0]?.published ?? 0n), compared };
};

const isSame = (one: StoredRoot, other: StoredRoot): boolean => shown(one) === shown(other);

const rootAndTotal = ({ root, total }: StoredRoot) => ({ root, total });

/** Members that no correction changes. */
const restOf = ({
  checkpointDigest,
  decimals,
  checkpointTimestampMs,
}: Pick<StoredRoot, "checkpointDigest"> & {
  readonly decimals?: number | string | null;
  readonly checkpointTimestampMs?: string;
}): string => canonicalJson([checkpointDigest, `${decimals ?? ""}`, checkpointTimestampMs ?? null]);

const shown = ({ root, total, checkpointDigest }: StoredRoot): string =>
  `${root}, total ${total}, checkpoint digest ${checkpointDigest}`;
