/**
 * Discovery: which checkpoints of a range concern the contract.
 *
 * Asks a node's lists, fetches what they name, verifies it, and notes the chain of versions of each
 * object. What chains lack is asked for in turn, object by object over the gap alone; what the lists
 * do not give is followed back from the transaction that gave the missing version. Ends when every
 * chain goes from its creation to its removal or to the version that the node serves.
 *
 * Nothing rests on the lists: they only save work. Excerpts are staged, so a restart repeats the
 * questions and fetches nothing twice. Memory: some 500 bytes per object, 50 per checkpoint, ten
 * kilobytes per epoch, and the checkpoints under way.
 */
import { highest } from "../../values/bigints.ts";
import type { Touch } from "../history/ledger-index.ts";
import type { Chain } from "./chains.ts";
import { readMetadata } from "./coin-metadata.ts";
import type { Discovered, Missing } from "./discovered.ts";
import type { Discovery } from "./discovery.ts";
import { createFindings } from "./findings.ts";
import { closeGaps } from "./gaps.ts";
import { ListsBehindError, PackageUnknownError } from "./guided-errors.ts";
import { openIntake } from "./intake.ts";
import { missingOf, missingWithheld } from "./missing.ts";
import { followNewest } from "./newest-versions.ts";
import { LITERALS } from "./object-lists.ts";
import type { DiscoverOptions } from "./options.ts";
import { untilSourceHas } from "./reach.ts";
import { createReport } from "./report.ts";
import { createSearches } from "./search.ts";

/**
 * @throws ListsBehindError (retry), SourceBehindError (wait), PackageUnknownError (stop), errors of index, source and signatures
 */
export const discover = async (
  options: DiscoverOptions,
  signal: AbortSignal,
): Promise<Discovered> => {
  const { index, source, range, known = [] } = options;
  const { first, last } = range;
  const findings = createFindings(options.packages, first);
  const report = createReport(findings, last, options.onProgress);
  const intake = await openIntake({ ...options, findings, report }, signal);
  for await (const object of known) findings.know(object);
  await intake.resume();

  const { last: listedUpTo } = await index.covers(signal);
  if (listedUpTo < last) throw new ListsBehindError(index.description, listedUpTo, last);
  await untilSourceHas({ ...options, report }, last, signal);
  const began = await publicationOf(options, signal);
  const searches = createSearches();
  const discovery = { index, source, range, findings, searches, intake, report, began, signal };

  const described = new Map<string, readonly Missing[]>();
  /** Asks for what is open, one step further each time, until nothing is. */
  const settle = async (isAsked: (chain: Chain) => boolean): Promise<void> => {
    for (;;) {
      signal.throwIfAborted();
      if (await intake.repeat()) continue;
      const newCoin = [...findings.coins].find((coinType) => !described.has(coinType));
      if (newCoin !== undefined) {
        described.set(newCoin, await readMetadata(discovery, newCoin));
        continue;
      }
      if (await closeGaps(discovery, isAsked)) continue;
      if (!(await followNewest(discovery, isAsked))) return;
    }
  };

  // The last checkpoint first: it leads to the committees of all epochs.
  await intake.each(() => [last]);
  // Then the package's publication and its upgrades, so that what follows is read with all types.
  await intake.each(() => [began]);
  await settle(({ kind }) => kind === "upgrade cap");
  for (let packages = findings.takeUnasked(); packages.length > 0; ) {
    await readListed(discovery, packages);
    await settle(findings.isTracked);
    packages = findings.takeUnasked();
  }
  await intake.flush();
  report.show();

  const missing = [
    ...[...findings.chains.all()].flatMap((chain) => missingOf(discovery, chain)),
    // Another coin's transaction may have led to it.
    ...[...described.values()]
      .flat()
      .filter(({ objectId }) => findings.chains.get(objectId) === undefined),
  ];
  const { packages, coins, chains } = findings;
  return {
    ...{ packages, coins, committeeOf: intake.committeeOf },
    missing: [...missing, ...missingWithheld(discovery, missing)],
    ...{ fetched: report.fetched, bytes: report.bytes, objects: chains.size },
  };
};

/** Checkpoint that published the original package. @throws PackageUnknownError (stop) */
const publicationOf = async (
  { index, packages: [original = ""] }: Pick<DiscoverOptions, "index" | "packages">,
  signal: AbortSignal,
): Promise<bigint> => {
  const published = (await index.heads([original], signal)).get(original) ?? null;
  const began = published && (await index.checkpointOf(published.previousTransaction, signal));
  if (began === null) throw new PackageUnknownError(index.description, original);
  return began;
};

/** Reads what the lists name for packages: their events, and calls into them. */
const readListed = async (
  { index, intake, report, began, range: { first, last } }: Discovery,
  packages: readonly string[],
): Promise<void> => {
  report.step = "lists";
  const touches = packages.flatMap((address): readonly Touch[] => [
    { kind: "events", address },
    { kind: "calls", address },
  ]);
  const range = { first: highest(began, first), last };
  for (let from = 0; from < touches.length; from += LITERALS) {
    const some = touches.slice(from, from + LITERALS);
    await intake.listed((own) => index.touching(some, range, own));
  }
};
