/** Closing gaps of chains: by the lists, then back by the transaction that gave a missing version. */
import { type Chain, type Gap, gapsOf } from "./chains.ts";
import type { Discovery } from "./discovery.ts";
import { askForObjects } from "./object-lists.ts";
import { previousTransactionOf } from "./read-found.ts";
import { keyOf } from "./search.ts";

/** Takes the next step for all open gaps; false when none may still be closed. */
export const closeGaps = async (
  discovery: Discovery,
  isAsked: (chain: Chain) => boolean,
): Promise<boolean> => {
  const { findings, searches, report, began } = discovery;
  const gaps = [...findings.chains.open]
    .filter(isAsked)
    .flatMap((chain) => openGapsOf(discovery, chain));
  const listable = gaps.filter(({ chain }) => !searches.of(chain).listed);
  if (listable.length > 0) {
    report.step = "objects";
    for (const { chain } of listable) searches.of(chain).listed = true;
    const asked = listable.map(({ chain, after, before }) => ({
      id: chain.id,
      first: after === null ? began : findings.notInLog(chain, after + 1n),
      last: before - 1n,
    }));
    await askForObjects(discovery, asked);
  } else if (gaps.length > 0) {
    report.step = "walking back";
    for (const chain of new Set(gaps.map((gap) => gap.chain))) await walkBack(discovery, chain);
  }
  return gaps.length > 0;
};

/** Gaps that may still be closed. */
const openGapsOf = ({ searches }: Discovery, chain: Chain): readonly Gap[] =>
  gapsOf(chain).filter((gap) => !searches.of(chain).failed.has(keyOf(gap)));

/** Follows the latest open gap of a chain back by one transaction. */
const walkBack = async (discovery: Discovery, chain: Chain): Promise<void> => {
  const gap = openGapsOf(discovery, chain).at(-1);
  // Another chain's transaction may have closed it meanwhile.
  if (gap === undefined) return;
  const failed = await closeByInput(discovery, gap);
  if (failed !== null) discovery.searches.of(chain).failed.set(keyOf(gap), failed);
};

/** Reads the transaction that gave the version that a gap lacks. Null: closed, or the reason why not. */
const closeByInput = async ({ intake }: Discovery, gap: Gap): Promise<string | null> => {
  const { chain, version, before } = gap;
  if (version === null) return "its removal is missing";
  const raw = await intake.fetchAgain(before);
  if (raw === null) return `checkpoint ${before}, which took it in, cannot be had again`;
  const digest = previousTransactionOf(raw, chain.id, version);
  if (digest === null) return `checkpoint ${before} does not show which transaction gave it`;
  const { checkpoint, reason } = await intake.transaction(digest, chain.id);
  if (reason !== null) return reason;
  const isOpen = gapsOf(chain).some((each) => keyOf(each) === keyOf(gap));
  return isOpen ? `checkpoint ${checkpoint} does not show it` : null;
};
