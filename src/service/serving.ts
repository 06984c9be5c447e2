/** This process's interfaces on a bound port. */

import { publicKeyList } from "../callbacks/signing-keys.ts";
import { migrationsPending } from "../database/migrate.ts";
import { graphqlPart } from "../graphql/part.ts";
import type { AgentNames } from "../graphql/shown-labels.ts";
import { streamGauges } from "../graphql/streams/sse.ts";
import { docsPart } from "../http/docs/part.ts";
import { ADMISSION, createAdmission } from "../http/edge/admission.ts";
import type { Front } from "../http/edge/front.ts";
import { createRateLimit } from "../http/edge/rate-limit.ts";
import { detailsOf, watchHealth } from "../http/health/health.ts";
import { pagesUnsent } from "../http/large-text.ts";
import { createMetrics } from "../http/metrics.ts";
import type { Part } from "../http/part.ts";
import { createServer } from "../http/server.ts";
import { anyone, KEY_HEADER, keyHolders } from "../http/who.ts";
import { LOG_CHANNEL } from "../log/append.ts";
import { watchPackages } from "../log/packages.ts";
import { logFormat } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { operatorPart } from "../operator/part.ts";
import { reloadAssets } from "../operator/reload-assets.ts";
import { webPart } from "../page-api/files-part.ts";
import { pageApiPart } from "../page-api/part.ts";
import { rootsPart } from "../page-api/roots-part.ts";
import { ledgerPipelines } from "../pipelines/ledger-pipelines.ts";
import { createAsking } from "../projections/asking.ts";
import { createCapTables } from "../projections/cap-tables.ts";
import { createReach } from "../projections/reach.ts";
import { restPart } from "../rest/part.ts";
import { type Assets, issuerOf } from "../settings/assets.ts";
import { investorsOf } from "../ta/processing/holder-ids.ts";
import { type TaAsset, taAssets } from "../ta/requests/asset.ts";
import { taDetails, taMetrics } from "../ta/requests/health.ts";
import { watchProcess } from "../telemetry/process-figures.ts";
import { VERSION } from "../telemetry/version.ts";
import { projectsOf } from "../transfers/projects.ts";
import { derived } from "../values/derived.ts";
import { checkedAssets } from "./checked-assets.ts";
import { configuredKey, configuredLabelKeys } from "./configured-keys.ts";
import { demoAccess, demoTour } from "./demo-access.ts";
import { followAssets } from "./followed-assets.ts";
import { databaseProgress } from "./health/database-progress.ts";
import { evmDetails, evmGauges } from "./health/evm-health.ts";
import type { IndexingProcess } from "./health/indexing-process.ts";
import { integrityDetails, integrityGauges } from "./health/integrity-health.ts";
import { pauseDetails, pauseGauges } from "./health/pauses-health.ts";
import { processDetails } from "./health/process-health.ts";
import { replicasDetails, watchReplicas } from "./health/replicas-health.ts";
import type { Process } from "./process.ts";
import { type Storage, watchPools } from "./storage.ts";
import { taRequests } from "./ta-requests.ts";

/** Attempts per minute and address without a valid key: enough for typing errors. */
const ATTEMPTS_PER_MINUTE = 60;

/** Weight of a lookup by key, see `Admission`. */
const ONE_ROW = 1;

/** Parts that are served along with a single interface, on the same data. */
const BESIDE: Readonly<Partial<Record<Part["name"], readonly Part["name"][]>>> = {
  graphql: ["page", "web"],
};

const isServed = (name: Part["name"], only: Part["name"] | undefined): boolean =>
  only === undefined ||
  name === only ||
  name === "roots" ||
  (BESIDE[only]?.includes(name) ?? false);

/** Reasons of refusals under load. */
const REFUSAL_REASONS = ["rate_limit", "attempts", "busy", "unread"] as const;
type RefusalReason = (typeof REFUSAL_REASONS)[number];

export type ServingSettings = Process & {
  readonly storage: Storage;
  readonly assets: Assets;
  /** The port, already listening. */
  readonly front: Front;
  /** Only this interface; all if absent. */
  readonly only?: Part["name"] | undefined;
  /** Addresses of the security-token package, original first; used until the log has them. */
  readonly packages: readonly string[];
  /** The indexing process, where it reports to this one. */
  readonly indexing?: IndexingProcess | undefined;
  /** Ends the process: entries of the sequence that it has seen are lost. */
  readonly giveUp: (error: Error) => void;
};

/** Investors' ids of holders that this service's transfer agent registered for a coin. */
const agentNamesOf =
  (assets: () => ReadonlyMap<string, TaAsset>): AgentNames =>
  (on, coinType, holderIds) => {
    const names = [...assets().values()].flatMap((asset) =>
      asset.ledger === "sui" && asset.coinType === coinType ? [asset.name] : [],
    );
    return investorsOf(on, names, holderIds);
  };

/** Serves until disposed; finishes requests under way and releases the port. */
export const startServing = async (settings: ServingSettings): Promise<AsyncDisposable> => {
  const { config, logger, storage, packages, front, only, indexing, giveUp } = settings;
  const { figures, tracing } = settings.telemetry;
  const refused = (reason: RefusalReason) => () =>
    figures.count("holderbook_requests_refused_total", { reason });
  for (const reason of REFUSAL_REASONS) {
    figures.begin("holderbook_requests_refused_total", { reason });
  }
  await using opened = new AsyncDisposableStack();
  const { sql } = storage.write;
  const followed = opened.use(followAssets({ config, sql, logger, assets: settings.assets }));
  const assets = followed.current;
  const projects = derived(assets, projectsOf);
  const { db } = storage.read;
  const evm = derived(projects, (known) =>
    evmDetails({ db, projects: known, local: indexing?.evm }),
  );
  const rarely = createRareLines();
  const health = watchHealth({
    progress: databaseProgress(storage.read.db, ledgerPipelines, indexing?.progress),
    details: detailsOf(
      (nowMs) => evm()(nowMs),
      taDetails({ db, assets }),
      followed.details,
      integrityDetails({ db: storage.read.db }),
      processDetails({ db: storage.read.db }),
      replicasDetails(storage.replicas),
      pauseDetails({ db: storage.read.db }),
      ...(indexing === undefined ? [] : [indexing.details]),
    ),
    version: VERSION,
    onError: (err) =>
      rarely(`${err}`, (repeats) =>
        logger.warn({ err, ...repeats }, "cannot read the pipelines' progress"),
      ),
  });
  const limits = () => ({
    limit: createRateLimit({
      policy: "default",
      quota: config.rateLimitPerMinute,
      windowSeconds: 60,
      onRefused: refused("rate_limit"),
    }),
    attempts: createRateLimit({
      policy: "attempts",
      quota: ATTEMPTS_PER_MINUTE,
      windowSeconds: 60,
      counted: "failed attempts",
      onRefused: refused("attempts"),
    }),
  });
  const onUnread = refused("unread");
  const pages = pagesUnsent(onUnread);
  const admission = createAdmission(ADMISSION, {
    onAdmitted: (weight) => figures.count("holderbook_admission_admitted_weight_total", {}, weight),
    onRefused: refused("busy"),
  });
  figures.beforeLook(() => {
    const { weight, waiting } = admission.load;
    figures.set("holderbook_admission_weight", {}, weight);
    figures.set("holderbook_admission_waiting", {}, waiting);
  });
  watchPools(figures, "serving", storage);
  if (storage.replicas !== undefined) watchReplicas(figures, storage.replicas);
  const watched = watchProcess(figures, { process: "serving" });
  const capTables = createCapTables();
  const { readers, primary, replicas } = storage;
  const findSummaries = createAsking(storage.read, { onFound: replicas?.catchUp });
  // Not bound to one request: concurrent ones share the answer.
  const lookUps = primary.for(undefined, ONE_ROW);
  // Only processes that serve it need its keys.
  const ta =
    only === undefined || only === "ta"
      ? await taRequests({ config, storage, tracing, assets, keys: lookUps, limits: limits() })
      : undefined;
  const deploymentKey = configuredKey(config, { existing: true });
  const tour = ta === undefined ? undefined : demoTour(config, assets(), lookUps);
  const page = {
    header: KEY_HEADER,
    scheme: { name: "pageKey" },
    keys: lookUps,
    limits: limits(),
    admission,
  };
  const labelKeys = configuredLabelKeys(config);
  const operator = operatorPart({
    who: keyHolders({ ...page, kinds: ["operator"] }),
    db,
    database: storage.write,
    labelKeys,
    assets,
    reloadAssets: async (key) =>
      reloadAssets(storage.write, { assets: await checkedAssets(config), key }),
  });
  const pageApi = pageApiPart({
    reader: keyHolders({ ...page, kinds: ["graphql", "operator"] }),
    open: anyone(limits().limit),
    db,
    tour,
    page: {
      version: VERSION,
      ledgerSource: config.ledgerSource,
      explorer: config.explorer,
      demo: demoAccess(config, lookUps, tour),
    },
    proofs: { readers, pipelines: ledgerPipelines, verify: config.verify.level, findSummaries },
    exports: {
      labelKeys,
      readers,
      capTables,
      findSummaries,
      write: storage.write,
      rootsPerDay: config.rootsPerDay,
      deploymentKey: () => deploymentKey.open(storage),
      issuerOf: (coinType) => issuerOf(assets(), coinType),
      giveUp,
    },
  });
  const graphql = graphqlPart({
    keys: lookUps,
    sources: {
      readers,
      lookUps,
      packages: watchPackages(lookUps, packages),
      pipelines: ledgerPipelines,
      now: Date.now,
      capTables,
      findSummaries,
      labelKeys,
      agentNames: agentNamesOf(derived(assets, taAssets)),
      reach: createReach(lookUps),
      onAppend: (onNotify, signal) => storage.read.listen(LOG_CHANNEL, onNotify, signal),
      onTrouble: (err) =>
        rarely(`${err}`, (repeats) =>
          logger.warn({ err, ...repeats }, "cannot notify subscriptions"),
        ),
    },
    limits: limits(),
    admission,
    pages,
    onUnread,
  });
  const served = [
    graphql,
    restPart({
      keys: lookUps,
      db,
      readers,
      admission,
      projects,
      callbackKeys: ta === undefined ? publicKeyList(db) : undefined,
      limits: limits(),
      onUnread,
    }),
    ...(ta === undefined ? [] : [ta]),
    webPart({ unsent: pages }),
    // Holders of statements may use any process.
    rootsPart({ db, limit: limits().limit }),
    pageApi,
    operator,
  ].filter(({ name }) => isServed(name, only));
  const parts = [...served, docsPart({ parts: served, version: VERSION, unsent: pages })];
  const metrics = createMetrics(health, { figures, indexing: indexing?.figures });
  evmGauges(metrics.registry, health);
  if (parts.includes(graphql)) streamGauges(metrics.registry, graphql.streams);
  taMetrics(metrics.registry, { health, db, assets });
  integrityGauges(metrics.registry, health);
  pauseGauges(metrics.registry, health);
  indexing?.addMetrics(metrics.registry);
  const server = await createServer({
    parts,
    logger,
    version: VERSION,
    health,
    metrics,
    unready: async () => {
      const pending = await migrationsPending(storage.read);
      return pending === 0 ? null : `${pending} database migrations are not applied`;
    },
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
    listsReads: logFormat(config.logFormat) === "json",
    front,
  });
  const following = opened.move();
  return {
    [Symbol.asyncDispose]: async () => {
      watched[Symbol.dispose]();
      await following.disposeAsync();
      await server.close();
      await health[Symbol.asyncDispose]();
    },
  };
};
