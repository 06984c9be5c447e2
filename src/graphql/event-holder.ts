/**
 * The holder of a wallet at an event: `fromHolderId`, `toHolderId`, `holderId`. One statement for all
 * rows of a coin in a list, and only when one of these fields is asked for.
 */
import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from "graphql";
import {
  holdersAt,
  type PlacedHolders,
  placeKey,
  type WalletPlace,
} from "../projections/event-holders.ts";
import type { GuardedReads, OfCoin } from "../projections/guarded-reads.ts";
import { FOR_HOLDERS } from "../projections/needed.ts";
import { NotYetIndexedError } from "../projections/past.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import { once } from "../waiting/once.ts";
import type { GraphContext } from "./context.ts";

/** Reads the holders of all rows of a list, once. */
type ReadHolders = (reads: GuardedReads) => Promise<PlacedHolders>;

/** A row of a list that shows holders; a followed row has none, and reads its own. */
export type WithHolders = { readonly holders?: ReadHolders | undefined };

/** Fields that need the holders of a list. */
const FIELDS: ReadonlySet<string> = new Set(["fromHolderId", "toHolderId", "holderId"]);

/** A look-up by index for each row. */
const HOLDER_COST = 5;

/** Whether a selection asks for holders, in fragments too; skipped fields count. */
export const showsHolders = ({
  fieldNodes,
  fragments,
}: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">): boolean => {
  const left = new Set(Object.keys(fragments));
  const isIn = (set: SelectionSetNode | undefined): boolean =>
    set?.selections.some((selection) => {
      if (selection.kind !== Kind.FRAGMENT_SPREAD) {
        const isField = selection.kind === Kind.FIELD && FIELDS.has(selection.name.value);
        return isField || isIn(selection.selectionSet);
      }
      // A fragment shows nothing new the second time.
      return (
        left.delete(selection.name.value) && isIn(fragments[selection.name.value]?.selectionSet)
      );
    }) ?? false;
  return fieldNodes.some(({ selectionSet }) => isIn(selectionSet));
};

/** The context of a list, which also needs the pipeline of holders where its rows show them: an empty page, too. */
export const contextOfList = (
  context: GraphContext,
  pipelines: readonly ProgressTables[],
  info: Pick<GraphQLResolveInfo, "fieldNodes" | "fragments">,
): GraphContext => (showsHolders(info) ? context.readsOf([...pipelines, ...FOR_HOLDERS]) : context);

/**
 * Rows with the holders of each coin's rows, read once.
 * @param placesOf the wallets of a row, at its event
 */
export const withHolders = <Row extends { readonly coinType: string }>(
  rows: readonly Row[],
  { options, placesOf }: { readonly options?: OfCoin; placesOf(row: Row): readonly WalletPlace[] },
): (Row & WithHolders)[] => {
  const readers = new Map<string, ReadHolders>();
  for (const [coinType, ofCoin] of Map.groupBy(rows, (row) => row.coinType)) {
    const holders = once((reads: GuardedReads) =>
      holdersAt(reads.ofCoin(coinType, options), coinType, ofCoin.flatMap(placesOf)),
    );
    readers.set(coinType, holders);
  }
  return rows.map((row) => ({ ...row, holders: readers.get(row.coinType) }));
};

/**
 * A field with the holder of one wallet of a row.
 * @param placeOf the wallet; null without one
 */
export const holderField = <Row extends { readonly coinType: string }>(
  description: string,
  placeOf: (row: Row) => WalletPlace | null,
) => ({
  nullable: true as const,
  description: `${description}, decimal; null when it had none. A list that shows holders ends where holder_lifecycle has committed.`,
  complexity: HOLDER_COST,
  reads: { pipelines: () => FOR_HOLDERS },
  resolve: async (
    row: Row & WithHolders,
    _args: object,
    { reads }: GraphContext,
  ): Promise<bigint | null> => {
    const place = placeOf(row);
    if (place === null) return null;
    const { coinType, holders } = row;
    const placed = await (holders === undefined
      ? holdersAt(reads.ofCoin(coinType), coinType, [place])
      : holders(reads));
    if (place.position >= placed.ending) {
      throw new NotYetIndexedError(
        `holder_lifecycle has not committed the checkpoint of position ${place.position}`,
      );
    }
    return placed.holders.get(placeKey(place)) ?? null;
  },
});
