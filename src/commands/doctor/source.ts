/** Checks that the ledger's sources answer, with the log's chain and packages. */
import { readPlace } from "../../ledger/reading/read.ts";
import type { RetryPolicy } from "../../ledger/sources/fetch-attempts.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { createContact } from "../../ledger/sources/source-contact.ts";
import { SourceChainsDifferError } from "../../ledger/sources/source-errors.ts";
import { checkIdentity, type HighWater, type LogIdentity } from "../../log/high-water.ts";
import type { Logger } from "../../logging/logger.ts";
import { isDemoLedger, loadDemo } from "../../service/demo.ts";
import { openLedger, openLedgerSource } from "../../service/ledger-source.ts";
import type { Config } from "../../settings/config.ts";
import type { LedgerSource } from "../../settings/ledger-sources.ts";
import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** The newest checkpoint of a live ledger. */
export type Newest = {
  readonly sequence: bigint;
  readonly timestampMs: bigint;
  readonly askedAtMs: number;
};

export type LedgerFound = {
  readonly findings: readonly Finding[];
  /** What a reader of the first answering source would add to the log; undefined without one. */
  readonly identity: LogIdentity | undefined;
  readonly latest: bigint | null;
  /** Absent for files and the demo, whose times are unrelated to now. */
  readonly newest: Newest | undefined;
};

const ANSWER_MS = 8_000;

/** One attempt: an unanswering source is reported, not waited for. */
export const ONCE: RetryPolicy = {
  attempts: 1,
  damagedAttempts: 1,
  backoff: { firstMs: 250, maxMs: 250 },
};

/**
 * Requests each source's chain and newest checkpoint. Skips the demo ledger, which opening would
 * make.
 * @throws ConfigError
 */
export const findLedger = async (
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<LedgerFound> => {
  if (isDemoLedger(config)) {
    const there = (await loadDemo(config)).isThere();
    const which = `the demo ledger, a simulated issuer (seed ${config.demo.seed})`;
    const findings = [ok(there ? which : `${which}; the first start makes it`)];
    return { findings, identity: undefined, latest: null, newest: undefined };
  }
  // Packages may be described in only one of several folders.
  const { packages, ...whole } = await openLedger(config, logger);
  await whole.source.close();
  const asked = await Promise.all(
    config.ledgerSources.map((source) => askOne({ config, source, packages, logger }, signal)),
  );
  const answers = asked.filter((each) => "latest" in each);
  const [first] = answers;
  const [known] = answers.flatMap(({ place, identity: { chainId } }) =>
    chainId === null ? [] : [{ source: place, chainId }],
  );
  const findings = asked.flatMap((each): readonly Finding[] => {
    if (!("latest" in each)) {
      // Another source suffices to read the ledger.
      return [
        (first === undefined ? fail : warn)(
          each.says,
          "check LEDGER_SOURCE, and that this machine can reach it",
        ),
      ];
    }
    const { place, identity, latest } = each;
    if (known !== undefined && identity.chainId !== null && identity.chainId !== known.chainId) {
      const differ = new SourceChainsDifferError(known, {
        source: place,
        chainId: identity.chainId,
      });
      return [fail(differ.message, "remove the source of the other chain from LEDGER_SOURCE")];
    }
    if (latest === null)
      return [warn(`${place} has no checkpoints yet`, "start the program that writes them")];
    const { chainId } = identity;
    const chain = chainId === null ? "does not name its chain" : `is of chain ${chainId}`;
    return [ok(`${place} ${chain}, newest checkpoint ${latest}`)];
  });
  return {
    findings,
    // The source in use may not know its chain: take the others'.
    identity: first && { packages, chainId: known?.chainId ?? null },
    latest: first?.latest ?? null,
    newest: answers.find(({ newest }) => newest !== undefined)?.newest,
  };
};

type Answer = {
  readonly place: string;
  readonly identity: LogIdentity;
  readonly latest: bigint | null;
  readonly newest: Newest | undefined;
};

/** Opens one source as the service would. */
const askOne = async (
  {
    config,
    source: listed,
    packages,
    logger,
  }: {
    readonly config: Config;
    readonly source: LedgerSource;
    readonly packages: readonly string[];
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<Answer | { readonly says: string }> => {
  const contact = createContact();
  const alone = { ...config, ledgerSources: [listed] };
  const { source } = await openLedgerSource(alone, logger, { observer: contact, retry: ONCE });
  const place = source.description;
  const ask = async (): Promise<Answer> => {
    const [latest, chainId] = await Promise.all([source.latest(signal), source.chainId(signal)]);
    const isLive = !/^(?:dir|archive):/.test(listed.setting);
    const newest = latest === null || !isLive ? undefined : await newestOf(source, latest, signal);
    return { place, identity: { chainId, packages }, latest, newest };
  };
  try {
    return await withinDeadline(ask(), { ms: ANSWER_MS });
  } catch (thrown) {
    const error = errorOf(thrown);
    const why = error instanceof DeadlineError ? contact.now().error : null;
    const message = why === null ? error.message : `${error.message}: ${why}`;
    return { says: message.startsWith(place) ? message : `${place}: ${message}` };
  } finally {
    await source.close();
  }
};

const newestOf = async (
  source: CheckpointSource,
  latest: bigint,
  signal: AbortSignal,
): Promise<Newest | undefined> => {
  for await (const raw of source.checkpoints({ first: latest, last: latest }, signal)) {
    const { timestampMs } = readPlace(raw).mark;
    return { sequence: latest, timestampMs, askedAtMs: Date.now() };
  }
  return undefined;
};

/** Compares the source with the log, as opening the log does. */
export const compareWithLog = (
  { identity, latest }: LedgerFound,
  log: HighWater | undefined,
): readonly Finding[] => {
  if (log === undefined || identity === undefined) return [];
  try {
    checkIdentity(log, identity);
  } catch (error) {
    return [
      fail(
        errorOf(error).message,
        "name a source and packages of the log, or another database (DATABASE_URL, DATA_DIR)",
      ),
    ];
  }
  if (latest !== null && log.nextCheckpoint > latest + 1n) {
    return [
      warn(
        `the log is at checkpoint ${log.nextCheckpoint - 1n}, ahead of the source`,
        "wait until the source has it, or name another source (LEDGER_SOURCE)",
      ),
    ];
  }
  return identity.chainId === null || log.chainId === null
    ? []
    : [ok("the log is of the same chain")];
};
