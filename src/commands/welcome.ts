/** The text that `start` prints: addresses, and example commands that work as pasted. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import type { DemoCallbacks } from "../service/demo-callbacks.ts";
import type { Ledger } from "../service/ledger-source.ts";
import type { Storage } from "../service/storage.ts";
import type { Config } from "../settings/config.ts";
import { VERSION } from "../telemetry/version.ts";
import { postgresUrl } from "../values/postgres-hosts.ts";

type Welcome = {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly storage: Storage;
  readonly url: string;
  /** A GraphQL key; undefined when the operator has made keys. */
  readonly key: string | undefined;
  /** A link that signs in once; undefined where data may be real, or without a key. */
  readonly link: string | undefined;
  /** For the demo's own assets: their callbacks' receiver, and the pair that signs requests. */
  readonly demo:
    | (Pick<DemoCallbacks, "url" | "isOurs"> & { readonly taKeyFile: string })
    | undefined;
};

/** A URL on this machine, as its user types it. */
export const localUrl = (url: string): string =>
  url.replace("0.0.0.0", "localhost").replace("127.0.0.1", "localhost");

/** The whole text, with a final newline. */
export const welcome = (about: Welcome): string => {
  const { config, ledger, storage, url, key, link, demo } = about;
  const host = localUrl(url);
  const [coin] = ledger.coinTypes;
  const query =
    coin === undefined
      ? "{ indexerStatus { pipeline checkpoint ageSeconds } }"
      : `{ tokenHolders(coinType: "${coin}", limit: 5) { owner balance timelockBalance } }`;
  const another = `${holderbookCommand(config)} keys create --kind graphql`;
  const keyLine = key === undefined ? [`  key=$(${another})`] : [];
  const lines = [
    "",
    `Holderbook ${VERSION} is indexing ${ledger.about}`,
    `and stores it in ${storage.kind === "embedded" ? `its own Postgres below ${config.dataDir}/` : "the database of DATABASE_URL"}.`,
    "",
    `  Page      ${link ?? host}`,
    ...(link === undefined ? [] : anotherLink(config, host)),
    `  GraphQL   ${host}/graphql`,
    `  GraphiQL  ${host}/graphiql`,
    `  REST      ${host}/r/api/v2/transfer_events (documentation: ${host}/docs)`,
    `  Health    ${host}/health`,
    `  Metrics   ${host}/metrics`,
    `  Key       ${key ?? `yours; for another one: ${another}`}`,
    ...ledger.coinTypes.map(
      (type, index) => `${index === 0 ? "  Tokens    " : "            "}${type}`,
    ),
    "",
    "Try it:",
    "",
    ...keyLine,
    `  ${graphqlCall(host, key)} \\`,
    `    -d '${JSON.stringify({ query })}'`,
    "",
    ...(demo === undefined || coin === undefined ? [] : circle({ host, key, keyLine, coin, demo })),
    "Ctrl-C stops the service; the next start continues.",
    "",
  ];
  return `${lines.join("\n")}\n`;
};

const anotherLink = (config: Config, host: string): readonly string[] => {
  // Only the data folder matters for this command.
  const command = `${holderbookCommand({ dataDir: config.dataDir, databaseUrl: undefined })} demo link`;
  const where = host === USUAL_HOST ? "" : ` --url ${host}`;
  return [`            signs in once; for another link: ${command}${where}`];
};

/** Default of `demo link`. */
const USUAL_HOST = "http://localhost:4000";

const graphqlCall = (host: string, key: string | undefined): string =>
  `curl -s ${host}/graphql -H 'Content-Type: application/json' -H "X-API-Key: ${key ?? "$key"}"`;

/** The whole way of a request, as commands to paste line by line or all together. */
const circle = (trial: {
  readonly host: string;
  readonly key: string | undefined;
  /** Makes a key, where none is known. */
  readonly keyLine: readonly string[];
  readonly coin: string;
  readonly demo: NonNullable<Welcome["demo"]>;
}): readonly string[] => {
  const { host, key, keyLine, coin, demo } = trial;
  const events = `{ holderEvents(coinType: "${coin}", sinceTimestamp: "SINCE", limit: 1000) { eventType address holderId groupId position } }`;
  const query = JSON.stringify({ query: events }).replace("SINCE", "'$since'");
  // Other receivers do not show callbacks: the commands list the deliveries instead.
  const last = demo.isOurs
    ? `curl -s ${demo.url}/$id`
    : `for n in $(seq 10); do get "/api/v1/callbacks?since=$from" | grep '"statusCode"' && break; sleep 1; done`;
  const from = demo.isOurs ? "" : "; from=$(date -u +%FT%TZ)";
  return [
    `Whitelist a wallet, in a second shell in ${projectFolder()}. The output shows the accepted request`,
    `(201), its history, the wallet's whitelist status, the event from the ledger, and the callback ${demo.isOurs ? "received" : "sent"}:`,
    "",
    ...keyLine,
    `  sign() { npm run --silent holderbook -- ta sign --key ${pathInProject(demo.taKeyFile)} "$@"; }`,
    `  get() { sign --get "$1" | curl -s -w '\\n' -H @- "${host}$1"; }`,
    `  wallet=0x${randomBytes(32).toString("hex")}; since=$(date +%s)${from}`,
    `  body='{ "investor": { "id": "investor-1", "first_name": "Ada", "last_name": "Example",`,
    `    "email": "ada@example.com", "dob": "1980-01-31", "primary_phone": "+4722222222",`,
    `    "full_address": { "street": "1 Main St", "city": "Oslo", "countryCode": "NO", "postalCode": "0150" },`,
    `    "blockchain_wallet": "'$wallet'" } }'`,
    '  answer=$(echo "$body" | sign --post /api/v1/investor/whitelist - | curl -s -w " %{http_code}" -H @- -d "$body" \\',
    `    ${host}/api/v1/investor/whitelist)`,
    `  echo "$answer"; id=$(echo "$answer" | grep -o '[0-9a-f-]\\{36\\}')`,
    `  for n in $(seq 60); do get "/api/v1/requests/$id" | grep -E 'SUCCESS|FAILED' && break; sleep 1; done`,
    `  get "/api/v1/investor/whitelist_status/$wallet"`,
    `  ${graphqlCall(host, key)} \\`,
    `    -d '${query}' |`,
    `    grep -o '{[^{}]*'$wallet'[^{}]*}'`,
    `  ${last}`,
    "",
  ];
};

/** Working folder of `npm run holderbook`. */
const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** The project's folder as seen from this shell, at the end of a sentence. */
const projectFolder = (): string =>
  process.cwd() === resolve(PROJECT) ? "this folder" : resolve(PROJECT);

/** A path for a command that runs in the project's folder. */
const pathInProject = (path: string): string => {
  const inside = relative(PROJECT, resolve(path));
  return quoted(inside.startsWith("..") || isAbsolute(inside) ? resolve(path) : inside);
};

/**
 * `holderbook …` for the project's folder, preceded by settings that lead to this service's
 * database. Never shows a password: a `DATABASE_URL` with one has to be set by hand.
 */
const holderbookCommand = (config: Pick<Config, "databaseUrl" | "dataDir">): string => {
  const there = settingsThere();
  const program = "npm run --silent holderbook --";
  if (config.databaseUrl === undefined) {
    const dataDir = resolve(PROJECT, there.DATA_DIR || ".holderbook");
    const moved = resolve(config.dataDir) !== dataDir;
    return moved ? `DATA_DIR=${pathInProject(config.dataDir)} ${program}` : program;
  }
  if (config.databaseUrl === there.DATABASE_URL) return program;
  const shown =
    new URL(postgresUrl(config.databaseUrl).hosts[0].url).password === ""
      ? quoted(config.databaseUrl)
      : "…";
  return `DATABASE_URL=${shown} ${program}`;
};

const settingsThere = (): NodeJS.Dict<string> => {
  try {
    return parseEnv(readFileSync(join(PROJECT, ".env"), "utf8"));
  } catch {
    // Usually there is none.
    return {};
  }
};

/** For a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
