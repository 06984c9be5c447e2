/**
 * Reads what is far behind by a node's lists, and leaves the rest to the reader.
 *
 * discover → excerpts in `log_found` → batches with gaps → log.append
 *
 * A restart at any moment goes on from the log and what is staged.
 */
import type { Sql, Transactor } from "../../database/connect.ts";
import {
  dropFoundAfter,
  emptyFound,
  foundAfter,
  guidedFrom,
  stageFound,
} from "../../log/guided.ts";
import { liveObjects } from "../../log/live-objects.ts";
import { allCommittees } from "../../log/proofs.ts";
import { type GuidedProgress, NO_BULK } from "../../values/bulk-progress.ts";
import { canonicalAddress } from "../../values/move-type.ts";
import { checkChainOf } from "../history/history-errors.ts";
import type { LedgerIndex, ListedRange } from "../history/ledger-index.ts";
import { unpackCommittee } from "../proof/committee.ts";
import { CommitteeError } from "../proof/proof-errors.ts";
import { nameAndCoin } from "../reading/facts.ts";
import type { GatheredBatch } from "../reading/gathering.ts";
import { refusalCounter } from "../reading/pass.ts";
import type { Guide, GuideFrom } from "../reading/reader.ts";
import type { Trust } from "../reading/trust.ts";
import { discover } from "./discover.ts";
import type { Missing } from "./discovered.ts";
import type { KnownObject } from "./findings.ts";
import { foundBatches } from "./found-batches.ts";
import { LogNotGuidedError } from "./guided-errors.ts";
import { newestOfBoth } from "./reach.ts";
import type { Staging } from "./staging.ts";

type Guided = {
  readonly index: LedgerIndex;
  /** Most checkpoints fetched at once; 32 by default. */
  readonly concurrency?: number | undefined;
  /** A begun log is read guided when it is behind by more than this many checkpoints. */
  readonly above?: bigint | undefined;
  /** Called before anything of a range is appended of which changes are missing. */
  readonly onMissing?: ((missing: readonly MissingChange[]) => Promise<void>) | undefined;
};

/** A change that cannot be had, of an object of the coin; of a package's it is one of every coin. */
export type MissingChange = Missing & {
  readonly coinType: string;
  /** First checkpoint that may lack it. */
  readonly from: bigint;
};

/** About an hour of the network. */
const GUIDED_ABOVE = 15_000n;

/** Proofs and blocks of this many checkpoints travel in one statement. */
const MOST_CHECKPOINTS = 1_000;

/** Reads guided until the log is near the tip, or `last` is in it. */
export const guideWith =
  ({ index, concurrency, above = GUIDED_ABOVE, onMissing }: Guided): Guide =>
  async (from, signal) => {
    const { log, database, source, last } = from;
    // Another chain's lists name nothing of this one.
    await checkChainOf(index, (await log.highWater()).chainId, signal);
    for (;;) {
      signal.throwIfAborted();
      const { nextCheckpoint: first, last: mark } = await log.highWater();
      const isEmpty = mark === null;
      if (!isEmpty && (await guidedFrom({ sql: database.sql }, log.firstCheckpoint)) === null) {
        throw new LogNotGuidedError();
      }
      const target = last ?? (await newestOfBoth(index, source, signal));
      const isFar = target !== null && target >= first && (isEmpty || target - first >= above);
      if (!isFar) return;
      await readGuided(from, { first, last: target }, { index, concurrency, onMissing }, signal);
    }
  };

const readGuided = async (
  from: GuideFrom,
  range: ListedRange,
  { index, concurrency, onMissing }: Omit<Guided, "above">,
  signal: AbortSignal,
): Promise<void> => {
  const { log, on, database, source, telemetry, refetches, onNotice, onNews } = from;
  const onProgress = (guided: GuidedProgress) => from.onProgress({ ...NO_BULK, guided });
  const { packages: known } = await log.highWater();
  const committees = await allCommittees(database.sql);
  const staging = logStaging(on);
  const { figures } = telemetry;
  let [fetched, bytes] = [0, 0];
  onNews(`reading checkpoints ${range.first} to ${range.last} guided by ${index.description}`);
  const found = await discover(
    {
      index,
      source,
      staging,
      packages: known,
      range,
      committees,
      trust: await trustOf(from, committees),
      known: knownObjects(database.sql),
      refetches,
      ...(concurrency !== undefined && { concurrency }),
      onProgress: (progress) => {
        figures.count("holderbook_guided_checkpoints_total", {}, progress.fetched - fetched);
        figures.count("holderbook_guided_bytes_total", {}, progress.bytes - bytes);
        figures.set("holderbook_guided_objects", {}, progress.objects);
        figures.set("holderbook_guided_open_objects", {}, progress.open);
        [fetched, bytes] = [progress.fetched, progress.bytes];
        onProgress(progress);
      },
      onRefused: refusalCounter(figures),
      onNotice,
    },
    signal,
  );
  for (const { objectId, version, coinType, reason } of found.missing.slice(0, MISSING_NAMED)) {
    onNotice(
      `incomplete: ${coinType ?? "a package"}: object ${objectId}, version ${version}: ${reason}`,
    );
  }
  if (found.missing.length > MISSING_NAMED) {
    onNotice(`incomplete: ${found.missing.length} objects in all; the first ones are named`);
  }
  const missing = found.missing.flatMap(({ coinType, ...of }) => {
    const from = of.after === null ? range.first : of.after + 1n;
    return (coinType === null ? [...found.coins] : [coinType]).map((coin) => ({
      ...{ ...of, from, coinType: coin },
    }));
  });
  // First, so that no register is served as complete that is known not to be.
  if (missing.length > 0) await onMissing?.(missing);
  const { objects, packages } = found;
  const shown = { fetched: found.fetched, bytes: found.bytes, objects, open: found.missing.length };
  const bounds = { ...from.bounds, checkpoints: MOST_CHECKPOINTS };
  const epochs = new Set(committees.map(({ epoch }) => epoch));
  const batches = foundBatches({ ...found, packages, staging, range, known, epochs, bounds });
  // Reads the next batch while one is appended.
  let appending: Promise<void> = Promise.resolve();
  for await (const gathered of batches) {
    await appending;
    signal.throwIfAborted();
    const at = `${gathered.batch.last.sequence}`;
    onProgress({ step: "appending", ...shown, at, last: `${range.last}` });
    appending = append(from, gathered);
    appending.catch(() => undefined);
  }
  await appending;
  await on.statement(emptyFound);
};

/** Each one is named in messages; all are in the proof of completeness. */
const MISSING_NAMED = 20;

const append = async ({ log, on, feed, appended }: GuideFrom, gathered: GatheredBatch) => {
  const { batch, coins } = gathered;
  await log.append(batch, coins, on);
  feed?.push({ first: batch.first, last: batch.last, facts: batch.facts });
  appended(gathered);
};

/** The log's newest committee, or what the settings trust. */
const trustOf = async (
  { verification }: GuideFrom,
  committees: Awaited<ReturnType<typeof allCommittees>>,
): Promise<Trust> => {
  const newestKnown = committees.at(-1);
  if (newestKnown !== undefined) {
    return { committee: unpackCommittee(newestKnown.epoch, newestKnown.members) };
  }
  const trust = await verification.trust?.();
  if (trust !== undefined && trust !== null) return trust;
  throw new CommitteeError(
    "READING=guided verifies signatures and needs to know whom to trust: set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
  );
};

const logStaging = (on: Transactor): Staging => ({
  add: (found) => on.statement((sql) => stageFound(sql, found)),
  after: (checkpoint, limit) => on.statement((sql) => foundAfter(sql, checkpoint, limit)),
  dropAfter: (checkpoint) => on.statement((sql) => dropFoundAfter(sql, checkpoint)),
});

const FRAMEWORK = canonicalAddress("0x2");

/** What the log's facts left alive. */
async function* knownObjects(sql: Sql): AsyncGenerator<KnownObject> {
  for await (const { type, ...object } of liveObjects(sql)) {
    const kind = type.startsWith(`${FRAMEWORK}::`) ? "metadata" : "contract";
    yield { ...object, kind, coinType: nameAndCoin(type).coinType };
  }
}
