/**
 * The environment, read once into a typed value. Nothing else in the code reads it.
 *
 * Every setting is documented in `.env.example`; a wrong one is a single line that names the
 * variable, what was wrong and an example.
 */
import { readFileSync } from "node:fs";
import { loadEnvFile } from "node:process";
import { parseEnv } from "node:util";
import { z } from "zod";
import { ConfigError } from "./config-error.ts";
import { type LedgerSource, ledgerSourcesOf } from "./ledger-sources.ts";
import { ENV_FILE, ENVIRONMENT, mistyped } from "./names.ts";
import { SECRETS, withSecretFiles } from "./secret-files.ts";
import { shownUrl } from "./shown-url.ts";
import {
  checkpointNumber,
  ed25519Key,
  explorerPage,
  flag,
  headers,
  LOG_FORMATS,
  LOG_LEVELS,
  ledgerSources,
  origins,
  packages,
  ports,
  retrySeconds,
  urlOf,
  VERIFY_LEVELS,
  type VerifyLevel,
  wholeNumber,
} from "./values.ts";

export { ConfigError } from "./config-error.ts";

const settings = z.object({
  PORT: wholeNumber(0, 65_535, "4000").default(4000),
  HOST: z.string().default("127.0.0.1"),
  METRICS_PORT: wholeNumber(0, 65_535, "4001").optional(),
  DATABASE_URL: urlOf(
    ["postgres", "postgresql"],
    "postgres://user:password@localhost:5432/holderbook",
  ).optional(),
  DATABASE_OWNER_URL: urlOf(
    ["postgres", "postgresql"],
    "postgres://owner:password@localhost:5432/holderbook",
  ).optional(),
  DATABASE_POOL: wholeNumber(2, 200, "10").default(10),
  STATEMENT_TIMEOUT_MS: wholeNumber(100, 600_000, "5000").default(5000),
  REDIS_URL: urlOf(["redis", "rediss"], "redis://localhost:6379").optional(),
  DATA_DIR: z.string().default(".holderbook"),
  LEDGER_SOURCE: ledgerSources.optional(),
  LEDGER_HEADERS: headers.optional(),
  SECURITY_TOKEN_PACKAGES: packages.optional(),
  FIRST_CHECKPOINT: checkpointNumber.optional(),
  VERIFY: z.enum(VERIFY_LEVELS, `must be one of ${VERIFY_LEVELS.join(", ")}`).optional(),
  TRUSTED_CHECKPOINT: z
    .string()
    .regex(
      /^(?:\d{1,18}:)?[1-9A-HJ-NP-Za-km-z]{32,44}$/,
      "must be the digest of a checkpoint that ends an epoch, perhaps behind its number: 1234567:9tnFLkxCJw…",
    )
    .optional(),
  COMMITTEE_FILE: z.string().optional(),
  ASSETS_FILE: z.string().optional(),
  LOG_FORMAT: z.enum(LOG_FORMATS, `must be one of ${LOG_FORMATS.join(", ")}`).optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
  OTEL_EXPORTER_OTLP_ENDPOINT: urlOf(["http", "https"], "http://localhost:4318").optional(),
  OTEL_SERVICE_NAME: z.string().default("holderbook"),
  FETCH_CONCURRENCY: wholeNumber(1, 512, "64").default(64),
  FETCH_WINDOW_MIB: wholeNumber(8, 8192, "128").default(128),
  BATCH_FACTS: wholeNumber(100, 200_000, "10000").default(10_000),
  BATCH_MIB: wholeNumber(1, 256, "8").default(8),
  RATE_LIMIT_PER_MINUTE: wholeNumber(1, 10_000_000, "6000").default(6000),
  CORS_ORIGINS: origins.default([]),
  RECONCILE_HOURS: wholeNumber(0, 168, "24").default(24),
  ROOTS_PER_DAY: wholeNumber(0, 1_000_000, "100").default(100),
  DEPLOYMENT_SIGNER_URL: urlOf(["http", "https"], "https://signer.internal/sign").optional(),
  DEPLOYMENT_SIGNER_TOKEN: z.string().optional(),
  DEPLOYMENT_SIGNER_KEY: ed25519Key.optional(),
  DEPLOYMENT_SIGNER_BEFORE_TOKEN: z.string().optional(),
  TRUST_PROXY: flag.default(false),
  ALLOW_PRIVATE_CALLBACKS: flag.default(false),
  CALLBACK_PORTS: ports.default([443]),
  CALLBACK_RETRY_SECONDS: retrySeconds.optional(),
  CALLBACK_MASTER_KEY: z.string().optional(),
  DEMO_CALLBACK_URL: urlOf(["http", "https"], "http://127.0.0.1:8080/hook").optional(),
  PLATFORM_NAME: z
    .string()
    .regex(/^[A-Za-z0-9]{1,32}$/, "must be 1 to 32 letters and digits, such as platform")
    .default("platform"),
  PII_KEYS: z.string().optional(),
  TA_BODY_MIB: wholeNumber(1, 256, "15").default(15),
  TA_FILE_MIB: wholeNumber(1, 256, "5").default(5),
  TA_NODE: z
    .string()
    .regex(
      /^grpc\+https?:\/\/[^/]+$/,
      "must be a full node, such as grpc+https://fullnode.mainnet.sui.io:443",
    )
    .optional(),
  TA_SUI_KEY: z.string().optional(),
  TA_EVM_KEY: z.string().optional(),
  TA_SIGNER_URL: urlOf(["http", "https"], "https://signer.internal/sign").optional(),
  TA_SIGNER_TOKEN: z.string().optional(),
  TA_SUI_ADDRESS: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be 0x and 64 hex digits")
    .optional(),
  TA_EVM_ADDRESS: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits")
    .optional(),
  // From what the cheapest transaction costs to the most that the network allows.
  TA_SUI_GAS_BUDGET: wholeNumber(1_000_000, 50_000_000_000, "50000000")
    .default(50_000_000)
    .transform(BigInt),
  EVM_POLL_MS: wholeNumber(20, 600_000, "1000").default(1000),
  EXPLORER_TRANSACTION: explorerPage("digest").optional(),
  EXPLORER_ACCOUNT: explorerPage("address").optional(),
  EXPLORER_OBJECT: explorerPage("objectId").optional(),
  EXPLORER_CHECKPOINT: explorerPage("checkpoint").optional(),
  DEMO_SEED: z.string().min(1).default("1"),
  DEMO_HISTORY: wholeNumber(0, 1_000_000, "2000").default(2000),
  DEMO_CHECKPOINTS_PER_SECOND: wholeNumber(1, 1000, "4").default(4),
  DEMO_INVESTORS: wholeNumber(1, 1_000_000, "40").default(40),
});

/** Where the service listens and reads, and its bounds. Sizes in bytes, times as named. */
export type Config = Readonly<{
  port: number;
  /** Address to listen on; `0.0.0.0` for every interface. */
  host: string;
  /** Where `index` shows its figures; absent: nowhere. */
  metricsPort: number | undefined;
  /** Absent: the embedded Postgres below `dataDir`. */
  databaseUrl: string | undefined;
  /** As the role that owns the tables, which migrates and mends; absent: the same role does. Never logged. */
  databaseOwnerUrl: string | undefined;
  /** Connections for reads, and again for writes. */
  databasePool: number;
  /** Longest a query on behalf of a caller may run. */
  statementTimeoutMs: number;
  redisUrl: string | undefined;
  dataDir: string;
  /** The first source of the ledger. */
  ledgerSource: string;
  /** All that are listed, of one chain, in the order of preference. */
  ledgerSources: readonly LedgerSource[];
  /** Whether the settings name it; otherwise it is the demo ledger by default. */
  ledgerSourceNamed: boolean;
  /** Canonical addresses, original first; absent on the demo ledger, which names its own. */
  packages: readonly string[] | undefined;
  firstCheckpoint: bigint | undefined;
  /** How much of what the source says is checked before it enters the log, and what that begins with. */
  verify: Readonly<{
    level: VerifyLevel;
    /** `DIGEST` or `NUMBER:DIGEST` of a checkpoint that ends an epoch. */
    trustedCheckpoint: string | undefined;
    committeeFile: string | undefined;
  }>;
  assetsFile: string | undefined;
  logLevel: (typeof LOG_LEVELS)[number];
  /** How log lines look; absent: readable on a terminal, JSON elsewhere. */
  logFormat: (typeof LOG_FORMATS)[number] | undefined;
  /** Base of the OpenTelemetry collector that traces go to; absent: there are none. */
  otlpEndpoint: string | undefined;
  /** What this service is called there. */
  otlpServiceName: string;
  fetchConcurrency: number;
  /** Checkpoints fetched and not yet read, together. */
  fetchWindowBytes: number;
  batchFacts: number;
  batchBytes: number;
  rateLimitPerMinute: number;
  /** Within so long every row is held against the log's facts once more; 0: never by itself. */
  reconcileSeconds: number;
  /** New roots that a key may publish in a UTC day by asking for statements. */
  rootsPerDay: number;
  /** Who keeps the deployment's key; absent: it is sealed in the database. Tokens are never logged. */
  deploymentSigner:
    | Readonly<{ url: string; token: string | undefined; publicKey: string }>
    | undefined;
  /** For the signer of the key before, while one key follows another. */
  signerBeforeToken: string | undefined;
  /** Origins whose pages may read what is answered to them. */
  corsOrigins: readonly string[];
  /** Believe `X-Forwarded-For`: only behind a proxy that sets it. */
  trustProxy: boolean;
  callbacks: Readonly<{
    /** Development and tests: callbacks may go to http, loopback and private addresses. */
    allowPrivate: boolean;
    /** Where else callbacks may go; with `allowPrivate` to every port. */
    ports: readonly number[];
    /** Delays between attempts; absent: the usual ones. */
    retrySeconds: readonly number[] | undefined;
    /** Base64 of 32 bytes that seal the signing keys; absent: a file below `dataDir`. Never logged. */
    masterKey: string | undefined;
    /** Where callbacks of the demo ledger go; absent: a receiver of our own. */
    demoUrl: string | undefined;
  }>;
  /** The transfer agent API. */
  ta: Readonly<{
    /** Its capitals followed by 00, as a tin, stand for none. */
    platformName: string;
    /** `id:base64,id:base64`, the sealing one first; absent: a file below `dataDir`. Never logged. */
    piiKeys: string | undefined;
    bodyBytes: number;
    /** Of one decoded file. */
    fileBytes: number;
    /** Full node for transactions, `grpc+https://host:port`; absent: the ledger's source, when it is one. */
    node: string | undefined;
    /** Keys to sign with (`suiprivkey1…` or base64; 0x…); absent: the signer. Never logged. */
    suiKey: string | undefined;
    evmKey: string | undefined;
    /** Remote signer, its bearer token, and the addresses it signs for. */
    signerUrl: string | undefined;
    signerToken: string | undefined;
    suiAddress: string | undefined;
    evmAddress: string | undefined;
    /** The most one transaction on Sui may cost, MIST. */
    suiGasBudget: bigint;
  }>;
  /** Pages of the Sui ledger's explorer, with a placeholder each, or `none`; absent: those of the network. */
  explorer: Readonly<{
    /** With `{digest}`. */
    transaction: string | undefined;
    /** With `{address}`. */
    account: string | undefined;
    /** With `{objectId}`. */
    object: string | undefined;
    /** With `{checkpoint}`. */
    checkpoint: string | undefined;
  }>;
  /** Pause between looks at the head of an EVM chain. */
  evmPollMs: number;
  demo: Readonly<{
    seed: string;
    history: number;
    checkpointsPerSecond: number;
    investors: number;
  }>;
}>;

const MIB = 1024 * 1024;

/** What a wrong setting is, as far as it may be shown. */
const shownValue = (name: string, present: Readonly<Record<string, string>>): string => {
  // A connection string may hold a password: name the variable, not its value.
  if (/URL|HEADERS|KEY|TOKEN|ENDPOINT/.test(name)) return "";
  const value = present[name] ?? "";
  const isAddress = /^(LEDGER_SOURCE|TA_NODE)$/.test(name);
  return ` (is "${isAddress ? value.split(/\s+/).map(shownUrl).join(" ") : value}")`;
};

/**
 * Reads `.env` in the working folder, if there is one, and the environment, which wins over it.
 * @throws ConfigError with a line for each wrong setting, or for each name that is nearly a setting's
 */
export const configFromEnvironment = (): Config => {
  const environment = { ...process.env };
  const file = loadedFile();
  const names = [...SETTINGS, ...SECRETS.map(({ file }) => file)];
  const wrong = [
    ...mistyped(Object.keys(given(file)), names, ENV_FILE),
    ...mistyped(Object.keys(given(environment)), names, ENVIRONMENT),
  ];
  if (wrong.length > 0) throw new ConfigError(wrong.join("\n"));
  return readConfig(withSecretFiles(given(process.env)));
};

/** The names of all settings, as `.env.example` documents them. */
export const SETTINGS: readonly string[] = Object.keys(settings.shape);

/** What `.env` holds, once it is in the environment too. */
const loadedFile = (): NodeJS.Dict<string> => {
  try {
    loadEnvFile();
    return parseEnv(readFileSync(".env", "utf8"));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // No .env is the usual case; an unreadable one is a fault.
    if ("code" in error && error.code === "ENOENT") return {};
    throw new ConfigError(`.env cannot be read: ${error.message}`);
  }
};

/** An empty variable counts as not set. */
const given = (environment: NodeJS.Dict<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || value.trim() === "" ? [] : [[name, value]],
    ),
  );

/**
 * Reads and checks the settings. An empty variable counts as not set.
 * @throws ConfigError with a line for each wrong setting
 */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const present = given(environment);
  const { success, data, error } = settings.safeParse(present);
  if (!success) {
    const lines = error.issues.map(({ path: [name], message }) => {
      return `${String(name)}: ${message}${shownValue(String(name), present)}`;
    });
    throw new ConfigError(lines.join("\n"));
  }
  if (data.DATABASE_OWNER_URL !== undefined && data.DATABASE_URL === undefined) {
    throw new ConfigError(
      "DATABASE_OWNER_URL: goes with DATABASE_URL, which names the same database as the service's own role",
    );
  }
  const [source = "demo:", ...others] = data.LEDGER_SOURCE ?? [];
  return {
    port: data.PORT,
    host: data.HOST,
    metricsPort: data.METRICS_PORT,
    databaseUrl: data.DATABASE_URL,
    databaseOwnerUrl: data.DATABASE_OWNER_URL,
    databasePool: data.DATABASE_POOL,
    statementTimeoutMs: data.STATEMENT_TIMEOUT_MS,
    redisUrl: data.REDIS_URL,
    dataDir: data.DATA_DIR,
    ledgerSource: source,
    ledgerSources: ledgerSourcesOf([source, ...others], data.LEDGER_HEADERS ?? []),
    ledgerSourceNamed: data.LEDGER_SOURCE !== undefined,
    packages: data.SECURITY_TOKEN_PACKAGES,
    firstCheckpoint: data.FIRST_CHECKPOINT,
    verify: {
      // The demo's own committee is known: nothing has to be set for its signatures.
      level: data.VERIFY ?? (source.startsWith("demo:") ? "signatures" : "links"),
      trustedCheckpoint: data.TRUSTED_CHECKPOINT,
      committeeFile: data.COMMITTEE_FILE,
    },
    assetsFile: data.ASSETS_FILE,
    logLevel: data.LOG_LEVEL,
    logFormat: data.LOG_FORMAT,
    otlpEndpoint: data.OTEL_EXPORTER_OTLP_ENDPOINT,
    otlpServiceName: data.OTEL_SERVICE_NAME,
    fetchConcurrency: data.FETCH_CONCURRENCY,
    fetchWindowBytes: data.FETCH_WINDOW_MIB * MIB,
    batchFacts: data.BATCH_FACTS,
    batchBytes: data.BATCH_MIB * MIB,
    rateLimitPerMinute: data.RATE_LIMIT_PER_MINUTE,
    reconcileSeconds: data.RECONCILE_HOURS * 3_600,
    rootsPerDay: data.ROOTS_PER_DAY,
    deploymentSigner: deploymentSignerOf(data),
    signerBeforeToken: data.DEPLOYMENT_SIGNER_BEFORE_TOKEN,
    corsOrigins: data.CORS_ORIGINS,
    trustProxy: data.TRUST_PROXY,
    callbacks: {
      allowPrivate: data.ALLOW_PRIVATE_CALLBACKS,
      ports: data.CALLBACK_PORTS,
      retrySeconds: data.CALLBACK_RETRY_SECONDS,
      masterKey: data.CALLBACK_MASTER_KEY,
      demoUrl: data.DEMO_CALLBACK_URL,
    },
    ta: {
      platformName: data.PLATFORM_NAME,
      piiKeys: data.PII_KEYS,
      bodyBytes: data.TA_BODY_MIB * MIB,
      fileBytes: data.TA_FILE_MIB * MIB,
      node: data.TA_NODE,
      suiKey: data.TA_SUI_KEY,
      evmKey: data.TA_EVM_KEY,
      signerUrl: data.TA_SIGNER_URL,
      signerToken: data.TA_SIGNER_TOKEN,
      suiAddress: data.TA_SUI_ADDRESS?.toLowerCase(),
      evmAddress: data.TA_EVM_ADDRESS?.toLowerCase(),
      suiGasBudget: data.TA_SUI_GAS_BUDGET,
    },
    explorer: {
      transaction: data.EXPLORER_TRANSACTION,
      account: data.EXPLORER_ACCOUNT,
      object: data.EXPLORER_OBJECT,
      checkpoint: data.EXPLORER_CHECKPOINT,
    },
    evmPollMs: data.EVM_POLL_MS,
    demo: {
      seed: data.DEMO_SEED,
      history: data.DEMO_HISTORY,
      checkpointsPerSecond: data.DEMO_CHECKPOINTS_PER_SECOND,
      investors: data.DEMO_INVESTORS,
    },
  };
};

const deploymentSignerOf = ({
  DEPLOYMENT_SIGNER_URL: url,
  DEPLOYMENT_SIGNER_TOKEN: token,
  DEPLOYMENT_SIGNER_KEY: publicKey,
}: z.output<typeof settings>): Config["deploymentSigner"] => {
  if (url !== undefined && publicKey !== undefined) return { url, token, publicKey };
  if (url !== undefined) {
    throw new ConfigError(
      "DEPLOYMENT_SIGNER_URL: needs DEPLOYMENT_SIGNER_KEY, the public key that the signer signs with, base64 of 32 bytes",
    );
  }
  const [name] = Object.entries({
    DEPLOYMENT_SIGNER_KEY: publicKey,
    DEPLOYMENT_SIGNER_TOKEN: token,
  })
    .filter(([, value]) => value !== undefined)
    .map(([each]) => each);
  if (name === undefined) return undefined;
  throw new ConfigError(`${name}: needs DEPLOYMENT_SIGNER_URL, where the signer is`);
};
