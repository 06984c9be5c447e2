/** Following each live object to the newest version that the node serves. */
import { highest } from "../../values/bigints.ts";
import type { ObjectHead } from "../history/ledger-index.ts";
import { type Chain, headOf } from "./chains.ts";
import type { Discovery } from "./discovery.ts";
import { type Asked, askForObjects } from "./object-lists.ts";
import { newestOfBoth } from "./reach.ts";

/** Objects per question for newest versions. */
const HEADS = 200;

/** Compares newest versions with the node's; false when nothing is left to ask. */
export const followNewest = async (
  discovery: Discovery,
  isAsked: (chain: Chain) => boolean,
): Promise<boolean> => {
  const { index, source, findings, searches, signal } = discovery;
  const { last } = discovery.range;
  const live = [...findings.chains.all()].filter((chain) => {
    const head = headOf(chain);
    if (head === null || head.checkpoint > last || !isAsked(chain)) return false;
    const { tail, compared } = searches.of(chain);
    return tail !== "given up" && compared !== head.version;
  });
  if (live.length === 0) return false;
  discovery.report.step = "newest versions";
  const later: Asked[] = [];
  const beyond: Omit<Asked, "last">[] = [];
  const unlisted: (readonly [Chain, ObjectHead | null])[] = [];
  for (let from = 0; from < live.length; from += HEADS) {
    const some = live.slice(from, from + HEADS);
    const heads = await index.heads(
      some.map(({ id }) => id),
      signal,
    );
    for (const chain of some) {
      const ours = headOf(chain);
      const head = heads.get(chain.id) ?? null;
      const search = searches.of(chain);
      if (ours === null) continue;
      const next = findings.notInLog(chain, ours.checkpoint + 1n);
      // A node behind the range may serve an older version, which says nothing.
      if (head !== null && head.version <= ours.version) search.compared = ours.version;
      else if (search.tail === "unasked") {
        search.tail = "listed";
        later.push({ id: chain.id, first: next, last });
      } else if (search.tail === "listed") {
        search.tail = "listed beyond";
        beyond.push({ id: chain.id, first: highest(next, last + 1n) });
      } else unlisted.push([chain, head]);
    }
  }
  await askForObjects(discovery, later);
  if (beyond.length > 0) {
    // The first change after the range shows whether one before it is missing.
    const upTo = (await newestOfBoth(index, source, signal)) ?? last;
    await askForObjects(
      discovery,
      beyond.map((asked) => ({ ...asked, last: upTo })),
    );
  }
  for (const [chain, head] of unlisted) await locate(discovery, chain, head);
  return true;
};

/** Reads the change that the node's version comes from, which its lists do not name. */
const locate = async (
  { intake, searches, range }: Discovery,
  chain: Chain,
  head: ObjectHead | null,
): Promise<void> => {
  const search = searches.of(chain);
  const ours = headOf(chain);
  // Another chain's transaction may have changed it meanwhile.
  if (ours === null || ours.checkpoint > range.last || head?.version === ours.version) return;
  search.tail = "given up";
  if (head === null) {
    search.tailFailed =
      "the node serves no such object any more, and no transaction that removed it can be had";
    return;
  }
  const { checkpoint, reason } = await intake.transaction(head.previousTransaction, chain.id);
  search.tailFailed = reason;
  if (reason !== null) return;
  if (headOf(chain)?.version !== ours.version) search.tail = "listed beyond";
  else search.tailFailed = `checkpoint ${checkpoint} does not show it`;
};
