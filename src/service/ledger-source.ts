/** The configured ledger: its source and our packages on it. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Committee } from "../ledger/proof/committee.ts";
import type { Verification } from "../ledger/reading/proving.ts";
import { committeeFrom, readTrusted } from "../ledger/reading/trust.ts";
import { type OnSetback, type RetryPolicy, Setback } from "../ledger/sources/fetch-attempts.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import {
  createContact,
  type SourceContact,
  type SourceObserver,
} from "../ledger/sources/source-contact.ts";
import type { OpenListed } from "../ledger/sources/source-list.ts";
import { recordDecimals } from "../log/coins.ts";
import type { Logger } from "../logging/logger.ts";
import { type Assets, suiTokens } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { ConfigError } from "../settings/config-error.ts";
import { readJsonFile } from "../settings/json-file.ts";
import type { LedgerSource } from "../settings/ledger-sources.ts";
import { checkLedgerNamed } from "../settings/read-config.ts";
import { shownUrl } from "../settings/shown-url.ts";
import type { Figures } from "../telemetry/figures.ts";
import { canonicalAddress, canonicalType } from "../values/move-type.ts";
import { assetsOf } from "./assets.ts";
import { isDemoLedger, loadDemo, type OpenDemo } from "./demo.ts";
import type { Storage } from "./storage.ts";

export type Ledger = {
  readonly source: CheckpointSource;
  /** The source's reports of its requests; absent: the reader's view is used. */
  readonly contact?: SourceContact | undefined;
  /** The demo ledger, which also takes transactions. */
  readonly demo?: OpenDemo | undefined;
  /** The security-token package: its original address, and perhaps those of upgrades. */
  readonly packages: readonly string[];
  /** Start of an empty log; absent: where the source says that the package was published, or 0. */
  readonly firstCheckpoint?: bigint | undefined;
  /** Known security tokens; empty on a real network. */
  readonly coinTypes: readonly string[];
  /** Validators of epoch 0 on our own ledger; elsewhere the settings name whom to trust. */
  readonly committee?: Committee | undefined;
  /** Description for people, at the end of a sentence. */
  readonly about: string;
  /** Stores decimals of the assets file, for coins whose metadata cannot be read. */
  recordDecimals(storage: Storage): Promise<void>;
};

/** The used part of the file that `demo write` leaves beside the checkpoints. */
const ledgerFile = z.object({
  // Canonical, because addresses are compared.
  packages: z
    .array(
      z
        .string()
        .regex(/^0x[0-9a-f]{1,64}$/i, "must be an address")
        .transform(canonicalAddress),
    )
    .min(1),
  coinTypes: z.array(z.object({ coinType: z.string() }).transform(({ coinType }) => coinType)),
  firstCheckpoint: z.int().min(0).transform(BigInt),
});

type Described = {
  readonly packages: readonly string[];
  readonly coinTypes: readonly string[];
  readonly firstCheckpoint: bigint;
};

/**
 * Logs which ledger the settings name; contacts and makes nothing.
 * @throws ConfigError as `openLedgerSource`
 */
export const announceLedger = async (config: Config, logger: Logger): Promise<void> => {
  checkLedgerNamed(config);
  if (isDemoLedger(config)) {
    logger.info({ ledger: "demo:" }, `reading ${aboutDemo(config)}`);
    return;
  }
  const { source } = await openLedgerSource(config, logger);
  await source.close();
  const others = config.ledgerSources.slice(1).map(({ setting }) => shownUrl(setting));
  logger.info(
    { ledger: source.description, ...(others.length > 0 && { others }) },
    `reading ${[source.description, ...others].join(", else ")}`,
  );
};

const aboutDemo = ({ demo }: Config): string =>
  `the demo ledger, a simulated issuer (seed ${demo.seed})`;

/** A ledger with valid settings. */
type FoundLedger = Pick<Ledger, "firstCheckpoint"> & {
  /** Contacts nothing yet. Call it once. */
  open(): Promise<Ledger>;
};

/**
 * `openLedger` in two steps: the first reports all faults of the settings, the second makes the
 * demo ledger, which takes a while.
 * @throws ConfigError, AssetsFileError (stop), FormerDemoLedgerError (stop), OtherDemoLedgerError
 *   (stop)
 */
export const findLedger = async (
  config: Config,
  logger: Logger,
  figures?: Figures,
): Promise<FoundLedger> => {
  checkLedgerNamed(config);
  if (!isDemoLedger(config)) {
    const ledger = await openLedger(config, logger, figures);
    return { firstCheckpoint: ledger.firstCheckpoint, open: async () => ledger };
  }
  (await loadDemo(config)).check();
  if (config.assetsFile !== undefined) await assetsOf(config, config.assetsFile);
  return {
    firstCheckpoint: config.firstCheckpoint ?? 0n,
    open: () => openLedger(config, logger, figures),
  };
};

/**
 * Opens the configured ledger; contacts nothing yet.
 * @param figures counts requests to its source
 * @throws ConfigError when packages are missing, or given without a ledger
 */
export const openLedger = async (
  config: Config,
  logger: Logger,
  figures?: Figures,
): Promise<Ledger> => {
  const contact = createContact();
  figures?.begin("holderbook_source_changes_total", {});
  const observer = figures === undefined ? contact : countingObserver(contact, figures);
  const { source, demo, described, about } = await openLedgerSource(config, logger, {
    observer,
    figures,
  });
  const packages = config.packages ?? described?.packages;
  if (packages === undefined) {
    throw new ConfigError(
      "SECURITY_TOKEN_PACKAGES: must name the package to index on this ledger by its original address, such as 0x2a…",
    );
  }
  const decimals =
    config.assetsFile === undefined ? [] : knownDecimals(await assetsOf(config, config.assetsFile));
  return {
    source,
    contact,
    demo,
    committee: demo?.source.committee,
    packages,
    firstCheckpoint: config.firstCheckpoint ?? described?.firstCheckpoint,
    coinTypes: described?.coinTypes ?? [],
    about,
    recordDecimals: ({ write }) => recordDecimals(write, "assets_file", decimals),
  };
};

/** Also counts and times requests to the source. */
const countingObserver = (
  { answered, failed }: SourceObserver,
  figures: Figures,
): SourceObserver => ({
  answered,
  failed: (error) => {
    failed(error);
    const name = error instanceof Error ? error.name : "unknown";
    const word = error instanceof Setback ? error.reason : name;
    figures.count("holderbook_source_errors_total", { error: word });
  },
  took: (seconds) => figures.observe("holderbook_source_request_seconds", {}, seconds),
});

/**
 * Opens the source, and the ledger's description of itself.
 * @throws ConfigError when LEDGER_SOURCE is unusable, or missing beside settings that need it
 */
export const openLedgerSource = async (
  config: Config,
  logger: Logger,
  opening: Opening = {},
): Promise<{
  readonly source: CheckpointSource;
  readonly demo?: OpenDemo | undefined;
  readonly described: Described | undefined;
  readonly about: string;
}> => {
  checkLedgerNamed(config);
  if (isDemoLedger(config)) {
    const demo = await (await loadDemo(config)).open();
    return {
      source: demo.source,
      demo,
      described: { ...demo, firstCheckpoint: 0n },
      about: `${aboutDemo(config)},`,
    };
  }
  const source = await openSources(config, logger, opening);
  const described = await Promise.all(
    config.ledgerSources.map(({ setting }) => describedIn(setting)),
  );
  return {
    source,
    described: described.find((each) => each !== undefined),
    about: `${source.description},`,
  };
};

const ARCHIVE = "archive:";

type Opening = {
  readonly observer?: SourceObserver | undefined;
  readonly figures?: Figures | undefined;
  /** Retries of a single source. */
  readonly retry?: RetryPolicy | undefined;
  /** For threads that only read. */
  readonly mayBlock?: boolean | undefined;
};

const openSources = async (
  config: Config,
  logger: Logger,
  { observer, figures, retry, mayBlock }: Opening,
): Promise<CheckpointSource> => {
  const { openSource: openOther } = await import("../ledger/sources/open-source.ts");
  const { archiveSource } = await import("../archive/archive-source.ts");
  const openSource: typeof openOther = (setting, options) =>
    setting.startsWith(ARCHIVE)
      ? archiveSource(setting.slice(ARCHIVE.length))
      : openOther(setting, options);
  const { oneOfSeveralPolicy } = await import("../ledger/sources/fetch-attempts.ts");
  const shared = {
    mayBlock,
    maxConcurrency: config.fetchConcurrency,
    windowBytes: config.fetchWindowBytes,
    firstCheckpoint: config.firstCheckpoint,
    certificates: config.verify.level === "signatures",
    onSetback: (setback: Parameters<OnSetback>[0]) =>
      setback.failures < 3
        ? logger.debug(setback, "fetching again")
        : logger.warn(setback, "the source keeps failing; fetching again"),
  };
  const [first, second, ...others] = config.ledgerSources;
  if (first === undefined || second === undefined) {
    const { setting, headers } = first ?? { setting: config.ledgerSource, headers: {} };
    return openSource(setting, { ...shared, headers, observer, retry });
  }
  const open =
    ({ setting, headers }: LedgerSource): OpenListed =>
    (own) =>
      openSource(setting, { ...shared, headers, retry: oneOfSeveralPolicy, observer: own });
  const { listSources } = await import("../ledger/sources/source-list.ts");
  return listSources([open(first), open(second), ...others.map(open)], {
    observer,
    onChange: (change) => {
      figures?.count("holderbook_source_changes_total", {});
      logger.warn(change, `reading from another source, ${change.to}`);
    },
  });
};

/** The folder's `ledger.json`, or the archive's manifest, if any. */
const describedIn = async (setting: string): Promise<Described | undefined> => {
  if (setting.startsWith(ARCHIVE)) {
    const { manifestOf } = await import("../archive/archive-source.ts");
    const { packages, first } = await manifestOf(setting.slice(ARCHIVE.length)).catch(
      ({ message }: Error) => {
        throw new ConfigError(`LEDGER_SOURCE: ${message}`);
      },
    );
    return { packages, coinTypes: [], firstCheckpoint: first };
  }
  if (!setting.startsWith("dir:")) return undefined;
  const path = join(setting.slice("dir:".length), "ledger.json");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && existsSync(dirname(path))) return undefined;
    throw new ConfigError(`LEDGER_SOURCE: ${error.message}`);
  });
  if (text === undefined) return undefined;
  const { content, faults } = readJsonFile(text, ledgerFile);
  if (content !== undefined) return content;
  throw new ConfigError(faults.map((fault) => `${path} ${fault}`).join("\n"));
};

export const knownDecimals = (assets: Assets) =>
  suiTokens(assets).flatMap(({ coinType, decimals }) =>
    decimals === undefined ? [] : [{ coinType: canonicalType(coinType), decimals }],
  );

/**
 * The configured verification of its checkpoints.
 * @param own committee of our own ledger, trusted unless the settings name another
 */
export const verificationOf = (
  { verify: { level, committeeFile, trustedCheckpoint } }: Pick<Config, "verify">,
  own?: Committee,
): Verification => ({
  level,
  trust: async () => {
    const checkpoint = trustedCheckpoint === undefined ? null : readTrusted(trustedCheckpoint);
    if (checkpoint !== null) return { checkpoint };
    if (committeeFile !== undefined) return { committee: await committeeFrom(committeeFile) };
    return own === undefined ? null : { committee: own };
  },
});
