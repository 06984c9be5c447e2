/** Sources and trusted checkpoints that options name. */
import { InvalidArgumentError } from "commander";
import type { Committee } from "../ledger/proof/committee.ts";
import { retryingSource, type SourceRetries } from "../ledger/reading/retrying-source.ts";
import { readTrusted, type TrustedCheckpoint } from "../ledger/reading/trust.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { ledgerSourcesOf, splitSources } from "../settings/ledger-sources.ts";
import type { Runtime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

export const trustArgument = (text: string): TrustedCheckpoint => {
  const trusted = readTrusted(text);
  if (trusted !== null) return trusted;
  throw new InvalidArgumentError("It must be a digest in base58, or NUMBER:DIGEST.");
};

/** The source given with `--source`, or the configured one. */
export const openNamedSource = async (
  config: Config,
  setting: string | undefined,
  logger: Logger,
) => {
  const { openLedgerSource } = await import("../service/ledger-source.ts");
  if (setting === undefined) return openLedgerSource(config, logger);
  // A configured source's key must not go to another one.
  const known = config.ledgerSources.find((source) => source.setting === setting);
  const ledgerSources = known ? [known] : ledgerSourcesOf(splitSources(setting), []);
  const [{ setting: ledgerSource } = { setting }] = ledgerSources;
  const named = { ledgerSource, ledgerSources, ledgerSourceNamed: true };
  return openLedgerSource({ ...config, ...named }, logger);
};

/** Retries requests for so long, with a log line for each failure. */
export const retried = (
  source: CheckpointSource,
  logger: Logger,
  patience: Omit<SourceRetries, "onTrouble">,
): CheckpointSource =>
  retryingSource(source, {
    ...patience,
    onTrouble: (err, pauseMs) => logger.warn({ err }, `asking the source again in ${pauseMs} ms`),
  });

/**
 * Fails at once beyond the newest checkpoint: the source would wait for it. Without a newest one it
 * returns null: a store that begins late finds its own only with FIRST_CHECKPOINT, but can be read.
 * @throws UsageError
 */
export const assertNotBeyond = async (
  source: CheckpointSource,
  last: bigint,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const newest = await source.latest(signal);
  if (newest === null || newest >= last) return newest;
  throw new UsageError(`${source.description} has no checkpoint ${last}; its newest is ${newest}`);
};

/** As `assertNotBeyond`, but the source has to have a newest checkpoint. @throws UsageError */
export const assertReaches = async (
  source: CheckpointSource,
  last: bigint,
  signal: AbortSignal,
): Promise<void> => {
  if ((await assertNotBeyond(source, last, signal)) !== null) return;
  throw new UsageError(`${source.description} has no checkpoint ${last}; it has none yet`);
};

/** Whether signatures are requested, and the configured committee. */
export const askedOf = async ({ config }: Runtime) => {
  const { verificationOf } = await import("../service/ledger-source.ts");
  const { level, trust } = verificationOf(config);
  let trusted: Committee | null = null;
  try {
    const named = await trust?.();
    if (named && "committee" in named) trusted = named.committee;
  } catch {
    // Without its file the committee is taken on faith, which the report states.
  }
  return { asked: level === "signatures", trusted };
};
