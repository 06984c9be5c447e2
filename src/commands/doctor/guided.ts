/** Checks whether a full node can guide reading, how far back, and estimates what that would cost. */
import { estimateTouching } from "../../ledger/history/estimate.ts";
import { HistoryIndexMissingError } from "../../ledger/history/history-errors.ts";
import type { LedgerIndex, ListedRange, Touch } from "../../ledger/history/ledger-index.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import type { Logger } from "../../logging/logger.ts";
import { openLedgerIndex, openWitness } from "../../service/ledger-index.ts";
import { openLedger, openLedgerSource } from "../../service/ledger-source.ts";
import type { Config } from "../../settings/config.ts";
import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { ONCE } from "./source.ts";

/** All within the deadline of a check. */
const WAITS = { answerMs: 4_000, sampleMs: 3_000, sizeMs: 2_000 };

const OTHER_NODE = "name a full node with the ledger history index in INDEX_SOURCE";

/** Asks the node of INDEX_SOURCE, or the full node of LEDGER_SOURCE, and WITNESS_SOURCE. */
export const checkGuided = async (
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<readonly Finding[]> => {
  const { indexSource } = config;
  if (indexSource === undefined) {
    return [ok("no full node is named; guided reading would need one (INDEX_SOURCE)")];
  }
  // What is only possible is no fault; what the settings ask for must work.
  const isWanted = config.reading === "guided" || !config.ledgerSources.includes(indexSource);
  const { packages, firstCheckpoint, source: unused } = await openLedger(config, logger);
  await unused.close();
  const index = await openLedgerIndex(config, logger, { retry: ONCE });
  const witness = await openWitness(config, logger, { retry: ONCE });
  const { source } = await openLedgerSource(config, logger, { retry: ONCE });
  try {
    const [lists, second] = await Promise.all([
      checkLists({ index, source, packages, firstCheckpoint, isWanted }, signal),
      witness === undefined ? [] : checkWitness(witness, source, signal),
    ]);
    return [...lists, ...second];
  } finally {
    await Promise.all([index.close(), witness?.close(), source.close()]);
  }
};

type Asked = {
  readonly index: LedgerIndex;
  readonly source: CheckpointSource;
  readonly packages: readonly string[];
  readonly firstCheckpoint: bigint | undefined;
  readonly isWanted: boolean;
};

const checkLists = async (asked: Asked, signal: AbortSignal): Promise<readonly Finding[]> => {
  const { index, source, packages, firstCheckpoint, isWanted } = asked;
  const place = index.description;
  const bad = isWanted ? fail : warn;
  let covers: ListedRange;
  let published: bigint | null;
  try {
    const other = await otherChain(index, source, signal);
    if (other !== null) return [other];
    covers = await answered(index.covers(signal));
    published = await answered(publicationOf(index, packages, signal));
  } catch (thrown) {
    const error = errorOf(thrown);
    if (!(error instanceof HistoryIndexMissingError)) {
      return [bad(says(place, error), "check INDEX_SOURCE, and that this machine can reach it")];
    }
    const missing = `${place} does not list what transactions touch`;
    return isWanted
      ? [fail(missing, OTHER_NODE)]
      : [ok(`${missing}; only guided reading needs that`)];
  }
  const begins = firstCheckpoint ?? published ?? covers.first;
  const listed = `${place} lists what transactions touch, checkpoints ${covers.first} to ${covers.last}`;
  if (covers.first > begins) {
    const late = `${listed}, which begins after the contract (${begins})`;
    return isWanted ? [fail(late, OTHER_NODE)] : [ok(`${late}; it cannot guide reading`)];
  }
  return [ok(listed), await costOf(asked, { first: begins, last: covers.last }, signal)];
};

const checkWitness = async (
  witness: LedgerIndex,
  source: CheckpointSource,
  signal: AbortSignal,
): Promise<readonly Finding[]> => {
  try {
    const other = await otherChain(witness, source, signal);
    return [other ?? ok(`the witness ${witness.description} is of the same chain`)];
  } catch (error) {
    const remedy = "check WITNESS_SOURCE, and that this machine can reach it";
    return [fail(says(witness.description, errorOf(error)), remedy)];
  }
};

const otherChain = async (
  node: LedgerIndex,
  source: CheckpointSource,
  signal: AbortSignal,
): Promise<Finding | null> => {
  const [its, ours] = await Promise.all([
    answered(node.chainId(signal)),
    // The check of the source names its faults.
    answered(source.chainId(signal)).catch(() => null),
  ]);
  if (ours === null || its === ours) return null;
  return fail(
    `${node.description} is of chain ${its}, but LEDGER_SOURCE is of chain ${ours}`,
    "name a node of the same chain in INDEX_SOURCE or WITNESS_SOURCE",
  );
};

/** The checkpoint that published the contract; null when unknown. */
const publicationOf = async (
  index: LedgerIndex,
  packages: readonly string[],
  signal: AbortSignal,
): Promise<bigint | null> => {
  const [original] = packages;
  if (original === undefined) return null;
  const head = (await index.heads([original], signal)).get(original);
  return head == null ? null : await index.checkpointOf(head.previousTransaction, signal);
};

/** Samples the lists, and the sizes of checkpoints found and of checkpoints anywhere. */
const costOf = async (
  { index, source, packages }: Asked,
  range: ListedRange,
  signal: AbortSignal,
): Promise<Finding> => {
  const what = packages.flatMap((address): readonly Touch[] => [
    { kind: "events", address },
    { kind: "calls", address },
  ]);
  const unknown = (why: string) =>
    ok(`what guided reading would cost is unknown: sampling its lists ${why}`);
  try {
    const estimate = await estimateTouching(index, what, range, WAITS.sampleMs, signal);
    if (estimate === null) return unknown(`took more than ${WAITS.sampleMs} ms`);
    const length = range.last - range.first + 1n;
    const anywhere = [0n, 1n, 2n, 3n].map((n) => range.first + (length * n) / 4n);
    const [found, any] = await Promise.all([
      meanSize(source, estimate.some.slice(0, 4), signal),
      meanSize(source, anywhere, signal),
    ]);
    const guided = bytesOf(estimate.checkpoints, found);
    const full = bytesOf(length, any);
    const bytes = guided === null || full === null ? "" : `, about ${guided} of ${full}`;
    return ok(
      `guided reading would fetch about ${estimate.checkpoints} of ${length} checkpoints${bytes} (sampled by events and calls; claims and splits through other packages add to it)`,
    );
  } catch (error) {
    return unknown(`failed: ${errorOf(error).message}`);
  }
};

/** Mean bytes of checkpoints; null when none could be fetched in time. */
const meanSize = async (
  source: CheckpointSource,
  sequences: readonly bigint[],
  signal: AbortSignal,
): Promise<number | null> => {
  const sizes: number[] = [];
  const fetching = sequences.map(async (sequence) => {
    for await (const { bytes } of source.checkpoints({ first: sequence, last: sequence }, signal)) {
      sizes.push(bytes.byteLength);
    }
  });
  await withinDeadline(Promise.allSettled(fetching), { ms: WAITS.sizeMs }).catch(() => undefined);
  return sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
};

const UNITS = ["kB", "MB", "GB", "TB", "PB"];

const bytesOf = (count: bigint, mean: number | null): string | null => {
  if (count === 0n) return "0 kB";
  if (mean === null) return null;
  let amount = (Number(count) * mean) / 1_000;
  let unit = 0;
  for (; amount >= 1_000 && unit < UNITS.length - 1; unit += 1) amount /= 1_000;
  return `${amount.toPrecision(amount < 1 ? 1 : Math.max(2, Math.ceil(Math.log10(amount + 1))))} ${UNITS[unit]}`;
};

const answered = <T>(answer: Promise<T>): Promise<T> =>
  withinDeadline(answer, { ms: WAITS.answerMs });

const says = (place: string, { name, message }: Error): string => {
  if (name === DeadlineError.name) return `${place}: no answer within ${WAITS.answerMs} ms`;
  return message.startsWith(place) ? message : `${place}: ${message}`;
};
