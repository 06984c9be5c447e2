/**
 * All settings: name, section, schema, default and text. `Config` is inferred from the schemas;
 * `.env.example`, the reference and the check for mistyped names are derived from this list.
 */
import { z } from "zod";
import { ConfigError } from "./config-error.ts";
import { type LedgerSource, ledgerSourcesOf, nodeBeside } from "./ledger-sources.ts";
import {
  bytesOfMib,
  checkpointNumber,
  ed25519Key,
  explorerPage,
  flag,
  fullNode,
  hashes,
  headers,
  hexAddress,
  keylessNode,
  LOG_FORMATS,
  LOG_LEVELS,
  ledgerSources,
  oneOf,
  origins,
  packages,
  ports,
  postgres,
  postgresList,
  READING_MODES,
  retrySeconds,
  urlOf,
  VERIFY_LEVELS,
  type VerifyLevel,
  wholeNumber,
} from "./values.ts";

type About = {
  readonly name: string;
  readonly section: string;
  readonly text: string;
  /** For `.env.example` and error messages, if there is no default. */
  readonly example?: string;
  /**
   * What error messages show of a wrong value: all by default, the host of an `address`, nothing of
   * `hidden` or `secret`. A secret can also come from the file named by the setting with `_FILE`.
   */
  readonly shown?: "address" | "hidden" | "secret";
};

const ABOUT = z.registry<About>();

/**
 * Declares settings of one section. A default is a text (`prefault`), parsed like a given value.
 */
const section =
  (title: string) =>
  <T extends z.ZodType>(
    name: string,
    schema: T,
    text: string,
    more: Pick<About, "example" | "shown"> = {},
  ): T => {
    ABOUT.add(schema, { name, section: title, text, ...more });
    return schema;
  };

const serving = section("Serving");
const storage = section("Storage");
const ledger = section("The ledger");
const page = section("The page");
const deploymentKey = section("The deployment's key");
const callbacks = section("EVM chains and callbacks");
const transferAgent = section("Transfer agent");
const demo = section("The demo ledger");

const HTTP = urlOf(["http", "https"]);

/** A hundred years. */
const MOST_DAYS = 36_500;

/** An `Idempotency-Key` is remembered this long; its answer names the request. */
const REPEATED_DAYS = 30;
const REPEATED_TEXT = `must be 0 or more than ${REPEATED_DAYS}, because callers may repeat a request for ${REPEATED_DAYS} days`;

const declared = z.object({
  port: serving(
    "PORT",
    wholeNumber(0, 65_535).prefault("4000"),
    "Port of everything that is served; 0 picks a free one.",
  ),
  host: serving(
    "HOST",
    z.string().prefault("127.0.0.1"),
    "Address to listen on; 0.0.0.0 for every interface.",
  ),
  rateLimitPerMinute: serving(
    "RATE_LIMIT_PER_MINUTE",
    wholeNumber(1, 10_000_000).prefault("6000"),
    "Requests that each key may make in a minute.",
  ),
  rootsPerDay: serving(
    "ROOTS_PER_DAY",
    wholeNumber(0, 1_000_000).prefault("100"),
    "New roots that each key may publish in a day (UTC) by asking for statements; they stay at /roots for ever. 0: none.",
  ),
  corsOrigins: serving(
    "CORS_ORIGINS",
    origins.default([]),
    "Other origins whose pages may call GraphQL, REST, the transfer agent, exports and proofs from a browser, separated by commas or spaces; exact, * is not accepted. Default: none. The page of this service needs no entry.",
    { example: "https://cap.example,http://localhost:5173" },
  ),
  trustProxy: serving(
    "TRUST_PROXY",
    flag.prefault("false"),
    "Take the caller's address, scheme and host from X-Forwarded-For, -Proto and -Host. Set true only behind a proxy that sets them. The first address of X-Forwarded-For counts as the caller's, so the proxy must replace what callers send, not append to it. Entries that are no address are ignored.",
  ),
  logLevel: serving(
    "LOG_LEVEL",
    oneOf(LOG_LEVELS).prefault("info"),
    "fatal, error, warn, info, debug, trace or silent.",
  ),
  logFormat: serving(
    "LOG_FORMAT",
    oneOf(LOG_FORMATS).optional(),
    "pretty for a person (omits successful reads) or json (one line for every request). Default: pretty where standard error is a terminal, else json.",
    { example: "json" },
  ),
  otlpEndpoint: serving(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    HTTP.optional(),
    "OpenTelemetry collector for traces (OTLP over HTTP); /v1/traces is appended. Without it no traces are made. Headers for the collector: OTEL_EXPORTER_OTLP_HEADERS.",
    { example: "http://localhost:4318", shown: "hidden" },
  ),
  otlpServiceName: serving(
    "OTEL_SERVICE_NAME",
    z.string().prefault("holderbook"),
    "Name of this service in traces.",
  ),
  metricsPort: serving(
    "METRICS_PORT",
    wholeNumber(0, 65_535).optional(),
    "Port of `index`, `backfill` and `work` for their own metrics (/metrics), at HOST; start and serve have them at PORT.",
    { example: "4001" },
  ),

  databaseUrl: storage(
    "DATABASE_URL",
    postgres.optional(),
    "Postgres 15 or newer. Several hosts, as in postgres://user:password@one:5432,two:5432/holderbook, are a primary and its standbys: the one that takes writes is used, and another once it is promoted (docs/how-to/fail-over.md). Without it a real Postgres runs below DATA_DIR.",
    { example: "postgres://user:password@localhost:5432/holderbook", shown: "secret" },
  ),
  databaseOwnerUrl: storage(
    "DATABASE_OWNER_URL",
    postgres.optional(),
    "The same database as the role that owns the tables: it migrates and repairs (docs/how-to/deploy.md). DATABASE_URL is then the service's own role, which cannot change append-only tables. Without it one role does both.",
    { example: "postgres://owner:password@localhost:5432/holderbook", shown: "secret" },
  ),
  databaseReadUrls: storage(
    "DATABASE_READ_URL",
    postgresList.default([]),
    "Streaming replicas of DATABASE_URL that callers' reads go to (docs/how-to/scale.md), separated by spaces or commas; a role that may only read suffices. Default: all reads go to DATABASE_URL.",
    { example: "postgres://reader:password@replica:5432/holderbook", shown: "secret" },
  ),
  databaseReadLagSeconds: storage(
    "DATABASE_READ_LAG_SECONDS",
    wholeNumber(1, 3_600).prefault("10"),
    "A replica that is further behind, in seconds, is left out until it has caught up.",
  ),
  databasePool: storage(
    "DATABASE_POOL",
    wholeNumber(2, 200).prefault("10"),
    "Connections for reads, also to each replica, and at most as many again for writes.",
  ),
  statementTimeoutMs: storage(
    "STATEMENT_TIMEOUT_MS",
    wholeNumber(100, 600_000).prefault("5000"),
    "Longest a caller's query may run, in milliseconds.",
  ),
  reconcileSeconds: storage(
    "RECONCILE_HOURS",
    wholeNumber(0, 168)
      .transform((hours) => hours * 3_600)
      .prefault("24"),
    "How often, in hours, the indexing process checks every row against the facts of the log. It uses at most a tenth of a core, and as much disk as the rows until it ends. 0: never automatically.",
  ),
  retainCallbacksDays: storage(
    "RETAIN_CALLBACKS_DAYS",
    wholeNumber(0, MOST_DAYS).prefault("0"),
    "Days that delivered callbacks are kept, with their attempts. Removed ones cannot be sent again (docs/how-to/operations.md, Retention). 0: for ever.",
  ),
  retainRequestsDays: storage(
    "RETAIN_REQUESTS_DAYS",
    wholeNumber(0, MOST_DAYS)
      .refine((days) => days === 0 || days > REPEATED_DAYS, REPEATED_TEXT)
      .prefault("0"),
    "Days that ended requests of the transfer agent are kept, with their steps and transactions; investors' data stay. Not fewer than RETAIN_CALLBACKS_DAYS, because a request stays as long as its callback. 0: for ever.",
  ),
  redisUrl: storage(
    "REDIS_URL",
    urlOf(["redis", "rediss"]).optional(),
    "Redis for the queues; without it they run on Postgres.",
    { example: "redis://localhost:6379", shown: "secret" },
  ),
  dataDir: storage(
    "DATA_DIR",
    z.string().prefault(".holderbook"),
    "Folder of everything that the service keeps on disk; two services need two folders.",
  ),

  listedSources: ledger(
    "LEDGER_SOURCE",
    ledgerSources.optional(),
    "demo: for a simulated issuer that needs nothing else; grpc+https://host[:port] for a Sui full node (grpc+http:// without TLS); https://host/path for an object store of {sequence}.binpb.zst; dir:/path for a folder of .chk and .binpb.zst files; archive:/path for the raw checkpoints of archive export. Several of one chain, separated by spaces, in order of preference: when one fails, the next is used, and the first is tried again after five minutes. Default: demo:, unless the packages or the first checkpoint are set, which belong to another ledger.",
    { example: "demo:", shown: "address" },
  ),
  ledgerHeaders: ledger(
    "LEDGER_HEADERS",
    headers.default([]),
    'Headers for the source, such as a provider\'s key: "name: value", several separated by ";". With several sources, put the host in front, "host name: value"; the header is sent only to that host.',
    { example: "x-token: 0123456789abcdef", shown: "secret" },
  ),
  indexNode: ledger(
    "INDEX_SOURCE",
    keylessNode.optional(),
    "Full node whose lists guide reading and proofs of completeness: which checkpoints touch the contract. It needs the ledger history index (holderbook doctor --only guided says whether a node has it). By default the first full node of LEDGER_SOURCE; needed where that names object stores or folders alone.",
    { example: "grpc+https://archive.mainnet.sui.io:443", shown: "address" },
  ),
  witnessNode: ledger(
    "WITNESS_SOURCE",
    keylessNode.optional(),
    "A second full node, of another provider, that proofs of completeness compare the newest versions of objects with. By default none: they rest on one node's word.",
    { example: "grpc+https://fullnode.other.example:443", shown: "address" },
  ),
  packages: ledger(
    "SECURITY_TOKEN_PACKAGES",
    packages.optional(),
    "Address where the security-token package was first published. Package upgrades are followed automatically; a list that begins with the original address, separated by commas, is accepted too. Not needed for demo:, nor for archive: and dir: with a ledger.json.",
    { example: "0x1a…" },
  ),
  firstCheckpoint: ledger(
    "FIRST_CHECKPOINT",
    checkpointNumber.optional(),
    "First checkpoint to read: the one that published the package, or earlier. By default a full node is asked for it, and other sources begin at 0. Fixed once the log has begun.",
    { example: "0" },
  ),
  reading: ledger(
    "READING",
    oneOf(READING_MODES).prefault("full"),
    "full: every checkpoint is read. guided: a full node's lists (INDEX_SOURCE) say which checkpoints concern the contract, and chains of versions show that none is missing; checkpoints at the tip are read one by one. Guided reading implies VERIFY=signatures and begins with an empty database (docs/how-to/guided-reading.md).",
    { example: "guided" },
  ),
  verify: z.object({
    level: ledger(
      "VERIFY",
      oneOf(VERIFY_LEVELS).optional(),
      "Checks before anything enters the log. off: none. links: the digests of everything that is read, and that every checkpoint names the one before it. signatures: the digests of every byte of every checkpoint, up to the validators' signatures; this needs TRUSTED_CHECKPOINT or COMMITTEE_FILE, except for the demo ledger. Default: links, and signatures for the demo ledger.",
      { example: "links" },
    ),
    trustedCheckpoint: ledger(
      "TRUSTED_CHECKPOINT",
      z
        .string()
        .regex(
          /^(?:\d{1,18}:)?[1-9A-HJ-NP-Za-km-z]{32,44}$/,
          "must be the digest of a checkpoint that ends an epoch, optionally prefixed with its number: 1234567:9tnFLkxCJw…",
        )
        .optional(),
      "For VERIFY=signatures: a checkpoint that ends an epoch before the log begins, as NUMBER:DIGEST, or DIGEST alone for the nearest one.",
      { example: "15918264:…" },
    ),
    committeeFile: ledger(
      "COMMITTEE_FILE",
      z.string().optional(),
      "For VERIFY=signatures: a file with the committee of the epoch in which the log begins, or of an earlier one.",
      { example: "committee.json" },
    ),
  }),
  contractBytecode: ledger(
    "CONTRACT_BYTECODE",
    hashes.default([]),
    "Hashes of the contract's bytecode (SHA-256, hex), separated by commas or spaces, for which an auditor accepts that the profile of the reference contract holds: it says which object each function takes, and without it nothing is proven complete. `holderbook prove complete` names the hash of each version.",
    { example: "6b2f…" },
  ),
  assetsFile: ledger(
    "ASSETS_FILE",
    z.string().optional(),
    "Projects and tokens, with what the ledgers do not say (config/assets.example.json).",
    { example: "assets.json" },
  ),
  fetchConcurrency: ledger(
    "FETCH_CONCURRENCY",
    wholeNumber(1, 512).prefault("64"),
    "Most concurrent fetches of checkpoints; the number in use adapts below it.",
  ),
  fetchWindowBytes: ledger(
    "FETCH_WINDOW_MIB",
    bytesOfMib(8, 8192).prefault("128"),
    "Most memory for checkpoints that are fetched and not yet read, in MiB.",
  ),
  batchFacts: ledger(
    "BATCH_FACTS",
    wholeNumber(100, 200_000).prefault("10000"),
    "Most facts in one transaction of the log or a pipeline.",
  ),
  batchBytes: ledger(
    "BATCH_MIB",
    bytesOfMib(1, 256).prefault("8"),
    "Most MiB in one transaction of the log or a pipeline.",
  ),

  explorer: z.object({
    transaction: page(
      "EXPLORER_TRANSACTION",
      explorerPage("digest").optional(),
      "Explorer page of a Sui transaction, with {digest} as placeholder, or none for no link. Default: known for mainnet and testnet.",
      { example: "https://suiscan.xyz/mainnet/tx/{digest}" },
    ),
    account: page(
      "EXPLORER_ACCOUNT",
      explorerPage("address").optional(),
      "The same for an account, with {address}.",
      { example: "https://suiscan.xyz/mainnet/account/{address}" },
    ),
    object: page(
      "EXPLORER_OBJECT",
      explorerPage("objectId").optional(),
      "The same for an object, with {objectId}.",
      { example: "https://suiscan.xyz/mainnet/object/{objectId}" },
    ),
    checkpoint: page(
      "EXPLORER_CHECKPOINT",
      explorerPage("checkpoint").optional(),
      "The same for a checkpoint, with {checkpoint}.",
      { example: "https://suiscan.xyz/mainnet/checkpoint/{checkpoint}" },
    ),
  }),

  signer: z.object({
    url: deploymentKey(
      "DEPLOYMENT_SIGNER_URL",
      HTTP.optional(),
      "External signer that holds the key of statements, packs and the sequence (docs/how-to/keys.md). Without it the key is sealed in the database.",
      { example: "https://signer.internal/sign", shown: "hidden" },
    ),
    token: deploymentKey(
      "DEPLOYMENT_SIGNER_TOKEN",
      z.string().optional(),
      "Bearer token for the signer.",
      { example: "...", shown: "secret" },
    ),
    publicKey: deploymentKey(
      "DEPLOYMENT_SIGNER_KEY",
      ed25519Key.optional(),
      "Public key of the signer, in base64.",
      { example: "...", shown: "hidden" },
    ),
  }),
  signerBeforeToken: deploymentKey(
    "DEPLOYMENT_SIGNER_BEFORE_TOKEN",
    z.string().optional(),
    "Bearer token for the signer of the previous key, for `keys rotate --signer-before`.",
    { example: "...", shown: "secret" },
  ),

  evmPollMs: callbacks(
    "EVM_POLL_MS",
    wholeNumber(20, 600_000).prefault("1000"),
    "Pause between polls of an EVM chain's head, in milliseconds. EVM tokens come from ASSETS_FILE.",
  ),
  callbacks: z.object({
    allowPrivate: callbacks(
      "ALLOW_PRIVATE_CALLBACKS",
      flag.prefault("false"),
      "Allow callbacks to http, loopback and private addresses, at every port: for development and tests only.",
    ),
    ports: callbacks(
      "CALLBACK_PORTS",
      ports.prefault("443"),
      "Ports that callbacks may go to, separated by commas; list 443 too if it is still wanted.",
    ),
    /** Eleven attempts have ten delays. */
    retrySeconds: callbacks(
      "CALLBACK_RETRY_SECONDS",
      retrySeconds.optional(),
      "Seconds between the attempts of a callback, in place of the default schedule (5 s to 24 h).",
      { example: "5,30,120,600,1800,7200,21600,50400,86400,86400" },
    ),
    masterKey: callbacks(
      "CALLBACK_MASTER_KEY",
      z.string().optional(),
      "Seals the keys that sign callbacks, and the deployment's key: base64 of 32 bytes (openssl rand -base64 32), the same for every process of the deployment. Without it a file below DATA_DIR is made.",
      { shown: "secret" },
    ),
    demoUrl: callbacks(
      "DEMO_CALLBACK_URL",
      HTTP.optional(),
      "Where the demo ledger's callbacks go, in place of its own receiver.",
      { example: "http://127.0.0.1:8080/hook", shown: "hidden" },
    ),
  }),

  ta: z.object({
    piiKeys: transferAgent(
      "PII_KEYS",
      z.string().optional(),
      "Keys that seal investors' data: name:base64 of 32 bytes (openssl rand -base64 32), several separated by commas. The first seals, all of them open; `holderbook pii rotate` seals everything with the first. Without them a file below DATA_DIR is made.",
      { example: "2026-11:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", shown: "secret" },
    ),
    platformName: transferAgent(
      "PLATFORM_NAME",
      z
        .string()
        .regex(/^[A-Za-z0-9]{1,32}$/, "must be 1 to 32 letters and digits, such as {example}")
        .prefault("platform"),
      "A tin of this name in capitals followed by 00 means that there is none.",
    ),
    bodyBytes: transferAgent(
      "TA_BODY_MIB",
      bytesOfMib(1, 256).prefault("15"),
      "Largest request body, in MiB.",
    ),
    fileBytes: transferAgent(
      "TA_FILE_MIB",
      bytesOfMib(1, 256).prefault("5"),
      "Largest file in a body once decoded, in MiB.",
    ),
    node: transferAgent(
      "TA_NODE",
      fullNode.optional(),
      "Full node that transactions are sent to; by default that of LEDGER_SOURCE.",
      { example: "grpc+https://fullnode.mainnet.sui.io:443", shown: "address" },
    ),
    suiKey: transferAgent(
      "TA_SUI_KEY",
      z.string().optional(),
      "Sui signing key (suiprivkey1… or base64). Its address needs the WalletsAdmin role of its tokens, and pays gas with its coins of SUI, one transaction per coin at a time.",
      { example: "suiprivkey1...", shown: "secret" },
    ),
    evmKey: transferAgent(
      "TA_EVM_KEY",
      z.string().optional(),
      "EVM signing key. Its address needs the WalletsAdmin role of its tokens.",
      { example: "0x...", shown: "secret" },
    ),
    signerUrl: transferAgent(
      "TA_SIGNER_URL",
      HTTP.optional(),
      "Remote signer for the two addresses below, in place of keys.",
      { example: "https://signer.internal/sign", shown: "hidden" },
    ),
    signerToken: transferAgent(
      "TA_SIGNER_TOKEN",
      z.string().optional(),
      "Bearer token for the remote signer.",
      { example: "...", shown: "secret" },
    ),
    suiAddress: transferAgent(
      "TA_SUI_ADDRESS",
      hexAddress(64).optional(),
      "Sui address that the remote signer signs for.",
      { example: "0x..." },
    ),
    evmAddress: transferAgent(
      "TA_EVM_ADDRESS",
      hexAddress(40).optional(),
      "EVM address that the remote signer signs for.",
      { example: "0x..." },
    ),
    /** MIST; from the cheapest transaction's cost to the network's limit. */
    suiGasBudget: transferAgent(
      "TA_SUI_GAS_BUDGET",
      wholeNumber(1_000_000, 50_000_000_000).transform(BigInt).prefault("50000000"),
      "Gas budget: the most one transaction on Sui may cost, in MIST (10^9 are 1 SUI), from 1000000 to 50000000000. Coins that hold less are not used.",
    ),
  }),

  demo: z.object({
    seed: demo(
      "DEMO_SEED",
      z.string().min(1).prefault("1"),
      "The same seed makes the same ledger.",
    ),
    history: demo(
      "DEMO_HISTORY",
      wholeNumber(0, 1_000_000).prefault("2000"),
      "Checkpoints that exist when the demo first starts.",
    ),
    checkpointsPerSecond: demo(
      "DEMO_CHECKPOINTS_PER_SECOND",
      wholeNumber(1, 1000).prefault("4"),
      "New checkpoints a second, from 1 to 1000.",
    ),
    investors: demo(
      "DEMO_INVESTORS",
      wholeNumber(1, 1_000_000).prefault("40"),
      "Number of shareholders that the registers grow to, at least those that the demo begins with.",
    ),
    story: demo(
      "DEMO_STORY",
      z.enum(["company", "chance"]).optional(),
      "company: three tokens of one company, over two years and on. chance: four issuers, at random, a lot at once; for tests. Default: what DATA_DIR has, and company in a new one.",
    ),
  }),
});

/** Derives values that depend on several settings. */
const config = declared.transform(({ listedSources, ledgerHeaders, signer, ...given }) => {
  const { indexNode, witnessNode, ...settings } = given;
  const [ledgerSource = "demo:", ...others] = listedSources ?? [];
  const nodes = [indexNode, witnessNode].filter((node) => node !== undefined);
  const sources = ledgerSourcesOf([ledgerSource, ...others], ledgerHeaders, nodes);
  const beside = (node: string | undefined): LedgerSource | undefined =>
    node === undefined
      ? undefined
      : (sources.find(({ setting }) => setting === node) ?? nodeBeside(node, ledgerHeaders));
  const indexSource =
    beside(indexNode) ?? sources.find(({ setting }) => setting.startsWith("grpc+"));
  const witnessSource = beside(witnessNode);
  if (witnessSource !== undefined && witnessSource.setting === indexSource?.setting) {
    throw new ConfigError(
      `WITNESS_SOURCE: is ${indexNode === undefined ? "the full node of LEDGER_SOURCE" : "INDEX_SOURCE"} itself; a witness is another node, of another provider`,
    );
  }
  const isGuided = settings.reading === "guided";
  if (isGuided) checkGuided({ indexSource, verify: settings.verify });
  const isProven = isGuided || ledgerSource.startsWith("demo:");
  const { level = isProven ? "signatures" : "links", ...trust } = settings.verify;
  if (settings.databaseOwnerUrl !== undefined && settings.databaseUrl === undefined) {
    throw new ConfigError(
      "DATABASE_OWNER_URL: needs DATABASE_URL, which names the same database as the service's own role",
    );
  }
  if (settings.databaseReadUrls.length > 0 && settings.databaseUrl === undefined) {
    throw new ConfigError(
      "DATABASE_READ_URL: needs DATABASE_URL, which names the primary of these replicas",
    );
  }
  const { retainCallbacksDays, retainRequestsDays } = settings;
  const staysLonger = retainCallbacksDays === 0 || retainCallbacksDays > retainRequestsDays;
  if (retainRequestsDays > 0 && staysLonger) {
    throw new ConfigError(
      `RETAIN_REQUESTS_DAYS: a request stays as long as its callback; set RETAIN_CALLBACKS_DAYS to at most ${retainRequestsDays}`,
    );
  }
  return {
    ...settings,
    verify: { level, ...trust },
    ledgerSource,
    /** All listed sources of the one chain, in order of preference. */
    ledgerSources: sources,
    /** Full node whose lists guide reading; undefined: none is named. */
    indexSource,
    witnessSource,
    /** Whether LEDGER_SOURCE is set; the default is the demo ledger. */
    ledgerSourceNamed: listedSources !== undefined,
    /** Absent: the deployment's key is sealed in the database. */
    deploymentSigner: deploymentSigner(signer),
  };
});

/** @throws ConfigError when the other settings do not allow guided reading */
const checkGuided = ({
  indexSource,
  verify: { level = "signatures" },
}: {
  readonly indexSource: LedgerSource | undefined;
  readonly verify: { readonly level?: VerifyLevel | undefined };
}): void => {
  if (level !== "signatures") {
    throw new ConfigError(
      `VERIFY: is ${level}, but READING=guided needs signatures, which alone prove a checkpoint whose neighbours are not read; remove VERIFY, or use READING=full`,
    );
  }
  if (indexSource !== undefined) return;
  throw new ConfigError(
    "INDEX_SOURCE: is not set, and LEDGER_SOURCE names no full node; READING=guided asks a full node's lists which checkpoints to read. Name one, such as grpc+https://archive.mainnet.sui.io:443, or use READING=full",
  );
};

/**
 * These settings for guided reading, which implies VERIFY=signatures.
 * @throws ConfigError
 */
export const guidedConfig = (config: Config): Config => {
  checkGuided({ indexSource: config.indexSource, verify: {} });
  return { ...config, reading: "guided", verify: { ...config.verify, level: "signatures" } };
};

const deploymentSigner = ({
  url,
  token,
  publicKey,
}: z.output<typeof declared>["signer"]):
  | { readonly url: string; readonly token: string | undefined; readonly publicKey: string }
  | undefined => {
  if (url !== undefined && publicKey !== undefined) return { url, token, publicKey };
  if (url !== undefined) {
    throw new ConfigError(
      "DEPLOYMENT_SIGNER_URL: needs DEPLOYMENT_SIGNER_KEY, the public key that the signer signs with, base64 of 32 bytes",
    );
  }
  const alone =
    publicKey !== undefined
      ? "DEPLOYMENT_SIGNER_KEY"
      : token !== undefined
        ? "DEPLOYMENT_SIGNER_TOKEN"
        : undefined;
  if (alone === undefined) return undefined;
  throw new ConfigError(`${alone}: needs DEPLOYMENT_SIGNER_URL, the address of the signer`);
};

/**
 * The settings with their defaults. Sizes in bytes, times as named; absent settings are undefined.
 */
export type Config = Readonly<z.output<typeof config>>;

export type Setting = About & {
  readonly default: string | undefined;
  /** Its path in `Config`. */
  readonly path: readonly string[];
};

const settingsOf = (group: z.ZodObject, above: readonly string[] = []): readonly Setting[] =>
  Object.entries(group.shape).flatMap(([key, schema]) => {
    const path = [...above, key];
    if (schema instanceof z.ZodObject) return settingsOf(schema, path);
    const about = ABOUT.get(schema);
    if (about === undefined) throw new Error(`${path.join(".")} is not declared in a section`);
    const value = schema instanceof z.ZodPrefault ? schema.def.defaultValue : undefined;
    return [{ ...about, path, default: typeof value === "string" ? value : undefined }];
  });

export const SETTINGS: readonly Setting[] = settingsOf(declared);

/** Parses the given variables; issues have the path of their setting. */
export const parseSettings = (given: Readonly<Record<string, string>>) =>
  config.safeParse(inputOf(declared, given));

const inputOf = (
  group: z.ZodObject,
  given: Readonly<Record<string, string>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(group.shape).map(([key, schema]) => [
      key,
      schema instanceof z.ZodObject ? inputOf(schema, given) : given[ABOUT.get(schema)?.name ?? ""],
    ]),
  );
