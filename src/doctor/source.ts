/** The ledger's source: whether it answers, and is of the chain and the packages of the log. */
import { readPlace } from "../ledger/reading/read.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import type { HighWater } from "../log/high-water.ts";
import type { Logger } from "../logging/logger.ts";
import { isDemoLedger, loadDemo } from "../service/demo.ts";
import { openLedger } from "../service/ledger-source.ts";
import type { Config } from "../settings/config.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The newest checkpoint of a ledger that goes on. */
export type Newest = {
  readonly sequence: bigint;
  readonly timestampMs: bigint;
  /** By our clock. */
  readonly askedAtMs: number;
};

/** What was asked of the source. */
export type Asked = {
  readonly findings: readonly Finding[];
  readonly chainId: string | null;
  readonly packages: readonly string[];
  readonly latest: bigint | null;
  /** Absent for files and the demo, whose times say nothing of now. */
  readonly newest: Newest | undefined;
};

/**
 * Asks the source for its chain and its newest checkpoint. The demo ledger is not opened: that would make it.
 * @throws ConfigError, and what the source throws
 */
export const askSource = async (
  config: Config,
  logger: Logger,
  signal: AbortSignal,
): Promise<Asked> => {
  const { ok, warn } = findingsOf("source");
  if (isDemoLedger(config)) {
    const there = (await loadDemo(config)).isThere();
    const which = `the demo ledger, a simulated issuer (seed ${config.demo.seed})`;
    const findings = [ok(there ? which : `${which}; the first start makes it`)];
    return { findings, chainId: null, packages: [], latest: null, newest: undefined };
  }
  const { source, packages } = await openLedger(config, logger);
  try {
    const [latest, chainId] = await Promise.all([source.latest(signal), source.chainId(signal)]);
    const isLive = !config.ledgerSource.startsWith("dir:");
    const newest = latest === null || !isLive ? undefined : await newestOf(source, latest, signal);
    const chain = chainId === null ? "cannot tell its chain" : `is of chain ${chainId}`;
    const findings =
      latest === null
        ? [warn(`${source.description} has no checkpoints yet`, "see what fills it")]
        : [ok(`${source.description} ${chain}, newest checkpoint ${latest}`)];
    return { findings, chainId, packages, latest, newest };
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

/** Compares what the source says with the log. */
export const compareWithLog = (
  { chainId, packages, latest }: Asked,
  log: HighWater | undefined,
): readonly Finding[] => {
  const { ok, warn, fail } = findingsOf("source");
  if (log === undefined) return [];
  const findings: Finding[] = [];
  if (chainId !== null && log.chainId !== null && chainId !== log.chainId) {
    findings.push(
      fail(
        `the log is of chain ${log.chainId}, the source of ${chainId}`,
        "name a source of the log's chain (LEDGER_SOURCE), or another database (DATABASE_URL, DATA_DIR)",
      ),
    );
  }
  const [original] = log.packages;
  if (packages.length > 0 && packages[0] !== original) {
    findings.push(
      fail(
        `the log is of package ${original}, the settings name ${packages[0]}`,
        "name the log's package (SECURITY_TOKEN_PACKAGES), or another database",
      ),
    );
  }
  const unmet = packages.slice(1).filter((address) => !log.packages.includes(address));
  if (unmet.length > 0 && packages[0] === original) {
    findings.push(
      warn(
        `the log does not know ${unmet.join(", ")} of SECURITY_TOKEN_PACKAGES`,
        "an upgrade joins by itself; for one that the log has passed: `holderbook packages add`",
      ),
    );
  }
  if (latest !== null && log.nextCheckpoint > latest + 1n) {
    findings.push(
      warn(
        `the log is at checkpoint ${log.nextCheckpoint - 1n}, ahead of the source`,
        "wait until the source is there, or name another (LEDGER_SOURCE)",
      ),
    );
  }
  return findings.length > 0 || chainId === null || log.chainId === null
    ? findings
    : [ok("the log is of the same chain")];
};
