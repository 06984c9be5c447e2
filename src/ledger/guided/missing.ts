/** What discovery could not find. */
import { type Chain, gapsOf, headOf, lastVersionOf, wholeUpTo } from "./chains.ts";
import type { Missing } from "./discovered.ts";
import type { Discovery } from "./discovery.ts";
import { keyOf } from "./search.ts";

/** The latest failed search of a chain that another chain's transaction did not end. */
export const missingOf = (
  { findings, searches, range: { last } }: Pick<Discovery, "findings" | "searches" | "range">,
  chain: Chain,
): readonly Missing[] => {
  if (!findings.isTracked(chain)) return [];
  const { compared, tailFailed, failed } = searches.of(chain);
  const of = { objectId: chain.id, coinType: chain.coinType, after: wholeUpTo(chain) };
  const gap = gapsOf(chain).findLast((each) => failed.has(keyOf(each)));
  if (gap !== undefined) {
    const version = gap.version ?? lastVersionOf(chain);
    return [{ ...of, version, reason: failed.get(keyOf(gap)) ?? "" }];
  }
  const head = headOf(chain);
  const isBehind = head !== null && head.checkpoint <= last && compared !== head.version;
  return isBehind && tailFailed !== null
    ? [{ ...of, version: head.version, reason: tailFailed }]
    : [];
};

/**
 * Checkpoints that the lists name for the contract and the source withholds, where no missing
 * change of an object is in them: their package stands for what they may hold, of any coin.
 */
export const missingWithheld = (
  { findings: { packages }, intake: { withheld } }: Pick<Discovery, "findings" | "intake">,
  missing: readonly Missing[],
): readonly Missing[] =>
  [...withheld].flatMap(([sequence, { isOfContract, objects, reason }]) => {
    const isNamed = missing.some(({ objectId }) => objects.has(objectId));
    if (!isOfContract || isNamed) return [];
    const [objectId = ""] = packages;
    return { objectId, coinType: null, version: 1n, after: sequence - 1n, reason };
  });
