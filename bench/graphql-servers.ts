/** The queries as measured, and the two servers that answer them over one database. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createKey } from "../src/http/keys.ts";
import { type Call, callOf } from "./load.ts";
import { LAUNCHER, type Program, type Scratch, startProgram } from "./start.ts";

/** Every field. */
const FIELDS = {
  tokenActivity:
    "activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType decimals fromAddress toAddress signer tokenObjectId",
  tokenBalance:
    "owner balance objectCount timelockBalance timelockCount timelocksIncluded decimals",
  tokenObjects: "objectId owner balance version checkpoint",
  tokenHolders: "owner balance timelockBalance timelocksIncluded",
  tokenTimelocks:
    "objectId owner funder releaseScheduleId releaseCount delayUntilFirstReleaseMs periodBetweenReleasesMs initialReleasePortionBps commencementTimestampMs totalAmount tokensTransferred leftBalance decimals",
  holderEvents: "eventType eventId position holderId address groupId isFrozen checkpointTimestamp",
  walletRoles: "owner roleBits roles",
  roleEvents: "eventId position owner role roleBit granted signer checkpointTimestamp",
  balanceChanges:
    "position owner part cause change balanceAfter txDigest checkpointTimestamp cursor",
  indexerStatus: "pipeline checkpoint checkpointTimestamp ageSeconds",
  transaction:
    "digest checkpoint checkpointTimestamp sender activity { activityType amount fromAddress toAddress eventId } changes { owner part cause change } holderEvents { eventType eventId } roleEvents { role eventId }",
  wallet:
    "address checkpoint checkpointTimestamp tokens { coinType decimals symbol name balance tokens granted holderId groupId isFrozen roles roleBits }",
  holder:
    "holderId checkpoint since balance tokens granted unlocked locked wallets { address balance since }",
  holderHistory:
    "holderId checkpoint since balance tokens granted unlocked locked wallets { address balance since } history(limit: $limit, after: $after, order: $order) { cursor wallet cause part change totalAfter counterparty counterpartyHolderId txDigest }",
  capTable:
    "checkpoint holderCount rows { holderId label balance wallets { address label balance } }",
  labels: "id kind coinType holderId address role text isSealed by at cursor",
  search: "kind coinType symbol holderId address txDigest eventId checkpoint timestamp label",
  supply: "checkpoint checkpointTimestamp totalSupply",
  holderCounts: "checkpoint checkpointTimestamp holders owners",
} as const;

/** Queries of a field with other arguments or selections than its own. */
const FIELD_OF: Readonly<Record<string, string>> = { holderHistory: "holder" };

/** Lists that are also queried as connections. */
const CONNECTED = ["tokenActivity", "tokenHolders", "holderEvents", "balanceChanges"] as const;

export type QueryName = keyof typeof FIELDS | `${(typeof CONNECTED)[number]}Connection`;

const SELECTIONS: ReadonlyMap<string, string> = new Map<string, string>([
  ...Object.entries(FIELDS),
  ...CONNECTED.map(
    (list) =>
      [
        `${list}Connection`,
        `edges { cursor node { ${FIELDS[list]} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`,
      ] as const,
  ),
]);

const VARIABLE_TYPES = {
  coinType: "String!",
  owner: "String!",
  address: "String!",
  digest: "String!",
  holderId: "String!",
  limit: "Int",
  first: "Int",
  points: "Int",
  text: "String!",
  from: "String",
  to: "String",
  after: "String",
  sinceTimestamp: "String",
  order: "SortOrder",
  atCheckpoint: "String",
  types: "[String!]",
  fromCheckpoint: "String",
  toCheckpoint: "String",
  fromTimestamp: "String",
  toTimestamp: "String",
} as const;

export type Variables = Readonly<
  Partial<Record<keyof typeof VARIABLE_TYPES, string | number | readonly string[]>>
>;

/** A query, or `__typename` alone, which needs no database. */
export type Question = { readonly name: QueryName | "__typename"; readonly variables: Variables };

const bodyOf = ({ name, variables }: Question): string => {
  if (name === "__typename") return JSON.stringify({ query: "{ __typename }" });
  const selection = SELECTIONS.get(name) ?? "";
  const isNested = (variable: string) => new RegExp(`\\$${variable}\\b`).test(selection);
  const given = Object.entries(VARIABLE_TYPES).filter(
    ([variable]) => variable in variables || isNested(variable),
  );
  const bracketed = (parts: readonly string[]) =>
    parts.length === 0 ? "" : `(${parts.join(", ")})`;
  const typeOf = (variable: string, type: string) =>
    name.startsWith("balanceChanges") && variable === "types" ? "[BalanceChangeCause!]" : type;
  const declared = bracketed(
    given.map(([variable, type]) => `$${variable}: ${typeOf(variable, type)}`),
  );
  const passed = bracketed(
    given.flatMap(([variable]) => (isNested(variable) ? [] : [`${variable}: $${variable}`])),
  );
  const query = `query ${declared} { ${FIELD_OF[name] ?? name}${passed} { ${selection} } }`;
  return JSON.stringify({ query, variables });
};

const LAUNCH = new URL("../bin/launch.mjs", import.meta.url).href;
const BARE = fileURLToPath(new URL("./graphql-bare.ts", import.meta.url));
const POOL = "10";
const START_MS = 60_000;

export type Server = Program & {
  readonly port: number;
  /** The body. @throws unless the status is 200 */
  ask(question: Question): Promise<string>;
  /** A call with the answer's expected bytes; null: any. */
  call(question: Question, length?: number | null): Call;
};

/**
 * `serve graphql` with a valid key, an unreachable limit and the log at `info`.
 * @param settings more environment
 * @param seesLabels whether the key sees labels
 */
export const startService = async (
  { database, url, folder }: Pick<Scratch, "database" | "url" | "folder">,
  settings: Readonly<Record<string, string>> = {},
  seesLabels = false,
): Promise<Server> => {
  const { secret } = await createKey(database, { kind: "graphql", seesLabels });
  // A separate folder, so that no local .env is read.
  const cwd = join(folder, "service");
  const env = {
    PORT: "0",
    DATA_DIR: cwd,
    DATABASE_URL: url,
    DATABASE_POOL: POOL,
    LOG_LEVEL: "info",
    RATE_LIMIT_PER_MINUTE: "10000000",
    ...settings,
  };
  const shows = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/;
  const program = await startProgram([LAUNCHER, "serve", "graphql"], { cwd, env, shows });
  return answering(program, () => "/graphql", { "x-api-key": secret });
};

/** The bare handlers, with the launcher's Node flags and as many connections. */
export const startBare = async ({ url, folder }: Scratch): Promise<Server> => {
  const run = `import { launch } from ${JSON.stringify(LAUNCH)};
    process.exitCode = await launch([${JSON.stringify(BARE)}], { tether: true, role: "serve" });`;
  const program = await startProgram(["--input-type=module", "--eval", run], {
    cwd: join(folder, "bare"),
    env: { DATABASE_URL: url, DATABASE_POOL: POOL },
    shows: /^(\d+)\n/m,
  });
  return answering(program, ({ name }) => `/${name}`, {});
};

/** Resolves once the program answers at the port that it printed. */
const answering = async (
  program: Program,
  pathOf: (question: Question) => string,
  own: Readonly<Record<string, string>>,
): Promise<Server> => {
  const port = Number(program.shown[1]);
  const headers = { ...own, accept: "application/json", "content-type": "application/json" };
  const ask = async (question: Question) => {
    const url = `http://127.0.0.1:${port}${pathOf(question)}`;
    const response = await fetch(url, { method: "POST", headers, body: bodyOf(question) });
    const answer = await response.text();
    if (response.status === 200) return answer;
    throw new Error(`${question.name} was answered with ${response.status}: ${answer}`);
  };
  const call = (question: Question, length: number | null = null) =>
    callOf(port, `POST ${pathOf(question)}`, headers, { body: bodyOf(question), length });
  for (const deadline = Date.now() + START_MS; ; await delay(20)) {
    try {
      await ask({ name: "__typename", variables: {} });
      return { ...program, port, ask, call };
    } catch (error) {
      if (Date.now() < deadline) continue;
      await program[Symbol.asyncDispose]();
      throw error;
    }
  }
};
