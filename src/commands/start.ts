import { randomBytes } from "node:crypto";
import { Command } from "commander";
import type { Config } from "../config.ts";
import { configuredAssets } from "../service/assets.ts";
import { openCallbackService } from "../service/callbacks.ts";
import { startDemoCallbacks, withDemoCallbacks } from "../service/demo-callbacks.ts";
import { startEvm } from "../service/evm.ts";
import { startIndexing } from "../service/indexing.ts";
import { type Ledger, openLedger } from "../service/ledger-source.ts";
import { configuredVault } from "../service/pii.ts";
import { startServing } from "../service/serving.ts";
import { startKey } from "../service/start-key.ts";
import { openStorage, type Storage } from "../service/storage.ts";
import { startTransferAgent } from "../service/ta.ts";
import { failUndelivered } from "../ta/processing/record.ts";
import { VERSION } from "../version.ts";
import { progressLine } from "./progress-line.ts";
import { openRuntime } from "./runtime.ts";
import { ended } from "./serve.ts";

/** `holderbook start`: index and serve in one process; without settings, the demo ledger. */
export const startCommand = () =>
  new Command("start").description("index the ledger and serve it").action(async () => {
    const { config, logger, signal: asked } = openRuntime();
    // Indexing ends too when serving cannot begin, such as on a port that is taken.
    const ending = new AbortController();
    const signal = AbortSignal.any([asked, ending.signal]);
    const ledger = await openLedger(config, logger);
    await using storage = await openStorage(config, logger);
    await ledger.recordDecimals(storage);
    await using callbacks = await openCallbackService({
      config: withDemoCallbacks(config),
      logger,
      storage,
      onGivenUp: failUndelivered,
    });
    await using receiver = await startDemoCallbacks({ config, logger, callbacks });
    const assets = await configuredAssets(
      config,
      receiver && { coinTypes: ledger.coinTypes, callbackUrl: receiver.url },
    );
    await callbacks.deliver(assets);
    await using evm = await startEvm({
      config,
      logger,
      database: storage.write,
      assets,
      signal,
    });
    const line = progressLine(logger, process.stderr.isTTY ? process.stderr : undefined);
    const indexing = startIndexing({
      config,
      logger,
      storage,
      ledger,
      firstCheckpoint: ledger.firstCheckpoint,
      signal,
      onProgress: line.report,
    });
    try {
      // Another chain's log must not be served as this one's.
      await indexing.opened;
      // Before any request is processed: data that nobody can open would be called stored.
      await (await configuredVault(config, storage)).checkKeys();
      const office = { config, logger, storage, assets, ledger, callbacks };
      await using _agent = await startTransferAgent(office);
      await using serving = await startServing({
        config,
        logger,
        storage,
        packages: ledger.packages,
        assets,
        local: indexing.local,
        evm,
      });
      const key = await startKey(config, storage);
      line.clear();
      process.stdout.write(
        welcome({ config, ledger, storage, url: serving.url, key, receiver: receiver?.url }),
      );
      await ended(signal);
    } finally {
      ending.abort();
      await indexing.ended;
      line.clear();
      await ledger.source.close();
    }
  });

type Welcome = {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly storage: Storage;
  readonly url: string;
  readonly key: string | undefined;
  /** Where the demo's callbacks go. */
  readonly receiver: string | undefined;
};

const welcome = ({ config, ledger, storage, url, key, receiver }: Welcome): string => {
  const host = url.replace("0.0.0.0", "localhost").replace("127.0.0.1", "localhost");
  const [coin] = ledger.coinTypes;
  const query =
    coin === undefined
      ? "{ indexerStatus { pipeline checkpoint ageSeconds } }"
      : `{ tokenHolders(coinType: "${coin}", limit: 5) { owner balance timelockBalance } }`;
  const lines = [
    "",
    `Holderbook ${VERSION} is indexing ${ledger.about}`,
    `and keeps it in ${storage.kind === "embedded" ? `a Postgres of its own below ${config.dataDir}/` : "the database of DATABASE_URL"}.`,
    "",
    `  GraphQL   ${host}/graphql`,
    `  GraphiQL  ${host}/graphiql`,
    `  REST      ${host}/r/api/v2/transfer_events (to read: ${host}/docs)`,
    `  Health    ${host}/health`,
    `  Metrics   ${host}/metrics`,
    `  Key       ${key ?? "make one: npm run holderbook -- keys create --kind graphql"}`,
    ...ledger.coinTypes.map(
      (type, index) => `${index === 0 ? "  Tokens    " : "            "}${type}`,
    ),
    "",
    "Try it:",
    "",
    `  curl -s ${host}/graphql -H 'Content-Type: application/json' -H 'X-API-Key: ${key ?? "<your key>"}' \\`,
    `    -d '${JSON.stringify({ query })}'`,
    "",
    ...(receiver === undefined ? [] : whitelisting(host, receiver)),
    "Ctrl-C ends it; the next start goes on where it was.",
    "",
  ];
  return `${lines.join("\n")}\n`;
};

/** The transfer agent's whole circle, to be tried by hand. */
const whitelisting = (host: string, receiver: string): readonly string[] => {
  const wallet = `0x${randomBytes(32).toString("hex")}`;
  const investor = {
    id: "investor-1",
    first_name: "Ada",
    last_name: "Example",
    email: "ada@example.com",
    dob: "1980-01-31",
    full_address: { street: "1 Main St", city: "Oslo", countryCode: "NO", postalCode: "0150" },
    blockchain_wallet: wallet,
    primary_phone: "+4722222222",
  };
  const holderbook = "npm run --silent holderbook --";
  return [
    "Whitelist a wallet: signed request, transaction, checkpoint, callback",
    "",
    `  ${holderbook} keys create --kind ta --asset demo-a > ta-key.json`,
    `  echo '${JSON.stringify({ investor })}' > body.json`,
    `  ${holderbook} ta sign --key ta-key.json body.json |`,
    "    curl -s -H @- -H 'Content-Type: application/json' --data-binary @body.json \\",
    `      ${host}/api/v1/investor/whitelist`,
    `  curl -s ${receiver}    # callbacks received`,
    "",
  ];
};
