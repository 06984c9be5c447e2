// @module-tag thorough
/** Every parameter of every route, and every argument of GraphQL, given what looks like a place and is none. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { signRequest } from "../../client/index.ts";
import { runCommand } from "../commands/run-command.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";

const TIMES = [
  "0000-01-01T00:00:00Z",
  "0000-12-31T23:59:59.000000Z",
  "0001-01-01T00:00:00+23:59",
  "0001-01-01T00:00:00.000000Z",
  "1969-12-31T23:59:59.999999Z",
  "2026-02-30T00:00:00.000000Z",
  "2026-06-31T00:00:00Z",
  "2026-01-01T24:00:00.000000Z",
  "2026-01-01T23:59:60.000000Z",
  "2026-01-01T00:00:00-23:59",
  "2026-01-01T00:00Z",
  "2026-01-01",
  "9999-12-31T23:59:59.999999Z",
  "9999-12-31T23:59:59-23:59",
  "+010000-01-01T00:00:00Z",
  "-000001-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "-infinity",
  "infinity",
  "now",
];

const NUMBERS = [
  "-1",
  "-0",
  "0",
  "00",
  "1e3",
  "0x10",
  "1.5",
  "NaN",
  "999999999",
  "9223372036854775807",
  "9223372036854775808",
  "18446744073709551615",
  "99999999999999999999",
  "9".repeat(39),
  "9".repeat(40),
  "9".repeat(9_000),
  "٣",
];

const TEXTS = [
  "",
  " ",
  "\0",
  "a\0b",
  "\uFFFD",
  "𝔘",
  "null",
  "undefined",
  "__proto__",
  "%",
  "'; select 1; --",
  "0x2a",
  `0x${"f".repeat(64)}`,
  `0x${"f".repeat(65)}`,
  "0x2::a::A",
  `0x2::a::A<${"0x2::a::A,".repeat(200)}0x2::a::A>`,
  "00000000-0000-0000-0000-000000000000",
  "x".repeat(5_000),
];

const inBase64 = (text: string) => Buffer.from(text).toString("base64url");

const POSITIONS = ["0", "999999999999999999", "9223372036854775808", "-1"];

/** One of a list, each as often as the others. */
const turn = (list: readonly string[], at: number): string => list[at % list.length] ?? "";

/**
 * What callers might make up after having seen a real one: each part is read by itself, so every value is tried in every
 * part, beside one value of the others.
 */
const PLACES = [
  ...TIMES.map((time, at) => inBase64(`${time}_${turn(POSITIONS, at)}`)),
  ...POSITIONS.map((position) => inBase64(`2026-01-01T00:00:00.000000Z_${position}`)),
  ...NUMBERS.flatMap((number, at) => [
    inBase64(number),
    `${number}:0x2a`,
    `${number}:0x2a:${turn(["TOKENS", "GRANTS"], at)}`,
    `${turn(["1", number], at)}:${number}${turn(["", ":TOKENS"], at)}`,
  ]),
  inBase64("\0_0"),
  inBase64("x".repeat(60)),
];

/** All that is tried, and the parameters that expect this kind of value. */
const KINDS = [
  { values: PLACES, isFor: /^(?:after|after_id)$/ },
  { values: TIMES, isFor: /since|until|timestamp/i },
  { values: NUMBERS, isFor: /checkpoint|limit|version|lots|states/i },
  { values: TEXTS, isFor: /^/ },
];

/**
 * Of values of other kinds each parameter gets a share, and as many parameters as there are shares get all. A prime:
 * values come in groups of four forms, and each share should have every form.
 */
const SHARES = 7;

/** Gives parameters their values, one after the other: all of the parameter's own kind, and a share of the others. */
const createGiving = (): ((name: string) => readonly string[]) => {
  let given = 0;
  return (name) => {
    given += 1;
    const own = KINDS.find(({ isFor }) => isFor.test(name));
    return KINDS.flatMap((kind) =>
      kind.values.filter((_, at) => kind === own || (at + given) % SHARES === 0),
    );
  };
};

const parameter = z.object({ name: z.string(), in: z.string(), required: z.boolean().optional() });
type Parameter = z.infer<typeof parameter>;

const jsonBody = z.object({
  content: z.object({ "application/json": z.object({ schema: z.looseObject({}) }) }),
});

const operation = z.object({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
  parameters: z.array(parameter).default([]),
  requestBody: jsonBody.optional(),
});

const openApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), z.looseObject({})) }),
});

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let program: Program;
let url: string;
let coinType: string;
let keys: { readonly graphql: string; readonly operator: string; readonly project: string };
let secretKey: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  const settings = {
    DATA_DIR: dataDir,
    PORT: "0",
    DEMO_HISTORY: "60",
    DEMO_CHECKPOINTS_PER_SECOND: "1",
    LOG_LEVEL: "warn",
    RATE_LIMIT_PER_MINUTE: "10000000",
  };
  program = startProgram(["start"], settings);
  [, url = ""] = await program.sees(/Health +(http:\S+)\/health/);
  [, coinType = ""] = await program.sees(/Tokens +(\S+)/);
  await program.sees(/Ctrl-C/);
  const made = async (...args: string[]) =>
    (await runCommand(["keys", "create", ...args], settings)).stdout.trim();
  keys = {
    graphql: (await readFile(join(dataDir, "start-key"), "utf8")).trim(),
    operator: await made("--kind", "operator"),
    project: await made("--kind", "project", "--project", "demo"),
  };
  const pair = await readFile(join(dataDir, "demo-ta-key.json"), "utf8");
  secretKey = z.object({ secretKey: z.string() }).parse(JSON.parse(pair)).secretKey;
}, 180_000);

afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** What was asked, and what is wrong with the answer; undefined when nothing is. */
const faultOf = ({ method, path, headers, body }: Asked, shown: string) =>
  eventually<string | undefined>(shown, async () => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(60_000),
    });
    // A stream that began is one that was accepted.
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = isStream && response.ok ? "" : await response.text();
    if (isStream && response.ok) await response.body?.cancel();
    const said = `${shown}: ${response.status} ${text.slice(0, 200)}`;
    // A busy machine refuses some of them, or has not seen yet that streams are gone: asked again, they are answered.
    if ([429, 503].includes(response.status)) return { seen: said };
    return { done: response.status >= 500 || text.includes("INTERNAL") ? said : undefined };
  });

const AT_ONCE = 8;

/** All faults, asked a few at a time. */
const faultsOf = async (asked: readonly (readonly [Asked, string])[]): Promise<string[]> => {
  const faults: string[] = [];
  const left = asked.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of left) {
        const fault = await faultOf(...one);
        if (fault !== undefined) faults.push(fault);
      }
    }),
  );
  return faults;
};

/** What else a request needs to come as far as the parameter. */
const usual = (name: string): string =>
  ({ coinType, since: "2026-01-01T00:00:00Z", wallet_address: "0x2a" })[name] ?? "1";

const shownIn = (name: string, value: unknown) => `${name}=${JSON.stringify(value)?.slice(0, 100)}`;

const asking = (
  method: string,
  template: string,
  { parameters, security }: z.infer<typeof operation>,
  given: Readonly<Record<string, string>>,
  sent?: unknown,
): Asked => {
  const valueFor = ({ name }: Parameter) => given[name] ?? usual(name);
  const inPath = parameters.filter((one) => one.in === "path");
  const inQuery = parameters.filter(
    (one) => one.in === "query" && (one.required === true || one.name in given),
  );
  const path = inPath.reduce(
    (made, one) => made.replace(`{${one.name}}`, encodeURIComponent(valueFor(one))),
    template,
  );
  const query = inQuery.map((one) => `${one.name}=${encodeURIComponent(valueFor(one))}`).join("&");
  const asked = { method, path: query === "" ? path : `${path}?${query}` };
  if (security.some((one) => "taKey" in one)) {
    const signed =
      sent === undefined
        ? signRequest({ secretKey, ...asked })
        : signRequest({ secretKey, path: asked.path, body: {} });
    return { ...asked, ...signed };
  }
  const key = template.startsWith("/operator") ? keys.operator : keys.graphql;
  const headers = { "x-api-key": key, "x-project-api-key": keys.project };
  return sent === undefined
    ? { ...asked, headers }
    : {
        ...asked,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(sent),
      };
};

test("no invented cursor, date or number in a parameter of any route causes an internal error", async () => {
  const { paths, components } = openApi.parse(await (await fetch(`${url}/openapi.json`)).json());
  const requests: (readonly [Asked, string])[] = [];
  const valuesFor = createGiving();
  const covered = new Set<string>();
  for (const [template, operations] of Object.entries(paths)) {
    // Tours are bounded by the minute, and take nothing that could be a place.
    if (template === "/demo/tour") continue;
    for (const [verb, described] of Object.entries(operations)) {
      const method = verb.toUpperCase();
      const base = method === "POST" ? {} : undefined;
      for (const { name, in: where } of described.parameters) {
        if (where !== "path" && where !== "query") continue;
        covered.add(`${method} ${template} ${name}`);
        for (const value of valuesFor(name)) {
          const asked = asking(method, template, described, { [name]: value }, base);
          requests.push([asked, `${method} ${template} ${shownIn(name, value)}`]);
        }
        if (where === "path") continue;
        const once = asking(method, template, described, { [name]: usual(name) }, base);
        const twice = { ...once, path: `${once.path}&${name}=1` };
        requests.push([twice, `${method} ${template} ${name} twice`]);
      }
      const schema = described.requestBody?.content["application/json"].schema;
      const name = /[^/]+$/.exec(String(schema?.$ref ?? ""))?.[0] ?? "";
      const members = z
        .object({ properties: z.record(z.string(), z.unknown()).default({}) })
        .parse(components.schemas[name] ?? schema ?? {}).properties;
      if (template.startsWith("/api/v1/")) continue;
      for (const member of Object.keys(members)) {
        covered.add(`${method} ${template} ${member}`);
        for (const value of [...valuesFor(member), null, 0, -1, 2 ** 53, [], ["a"], {}, true]) {
          // Only counted: nothing is sent.
          const body = { since: usual("since"), dryRun: true, [member]: value };
          const asked = asking(method, template, described, {}, body);
          requests.push([asked, `${method} ${template} ${shownIn(member, value)}`]);
        }
      }
    }
  }
  for (const one of [
    "GET /operator/requests after",
    "GET /operator/deliveries since",
    "POST /operator/deliveries/redeliver since",
    "GET /api/v1/callbacks since",
    "GET /r/api/v2/transfer_events after_id",
    "GET /roots after",
  ]) {
    expect([...covered]).toContain(one);
  }
  expect(await faultsOf(requests)).toEqual([]);
}, 600_000);

test("a cursor with a year beyond Postgres is 400, and says what it must be", async () => {
  const after = inBase64("0000-01-01T00:00:00.000000Z_1");
  for (const path of ["/operator/requests", "/operator/deliveries"]) {
    const headers = { "x-api-key": keys.operator };
    const response = await fetch(`${url}${path}?after=${after}`, { headers });
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({ details: "after: must be the `next` of a page" }),
    ]);
  }
});

const typeNamed = z.object({
  kind: z.string(),
  name: z.string().nullable(),
  ofType: z.object({ kind: z.string(), name: z.string().nullable() }).nullable().default(null),
});

const introspected = z.object({
  data: z.object({
    __schema: z.object({
      types: z.array(
        z.object({
          name: z.string(),
          fields: z
            .array(
              z.object({
                name: z.string(),
                args: z.array(z.object({ name: z.string(), type: typeNamed })),
                type: z.unknown(),
              }),
            )
            .nullable(),
        }),
      ),
    }),
  }),
});

const INTROSPECTION = `{ __schema { types { name fields { name type { kind name ofType { kind ofType { kind } } }
  args { name type { kind name ofType { kind name } } } } } } }`;

const graphql = (
  query: string,
  variables: Readonly<Record<string, string | undefined>> = {},
  headers: Readonly<Record<string, string>> = {},
): Asked => ({
  method: "POST",
  path: "/graphql",
  headers: { "content-type": "application/json", "x-api-key": keys.graphql, ...headers },
  body: JSON.stringify({ query, variables }),
});

const STREAM = { accept: "text/event-stream" };

test("no invented cursor, date or number in an argument of GraphQL causes an internal error", async () => {
  const asked = graphql(INTROSPECTION);
  const answer = await fetch(`${url}/graphql`, asked);
  const { types } = introspected.parse(await answer.json()).data.__schema;
  const taking = types.flatMap(({ name, fields }) =>
    (name.startsWith("__") ? [] : (fields ?? []))
      .filter(({ args }) => args.some(({ type }) => (type.name ?? type.ofType?.name) === "String"))
      .map((field) => ({ on: name, field })),
  );
  const through: Readonly<Record<string, readonly [string, string]>> = {
    Query: ["", ""],
    Subscription: ["", ""],
    Holder: [`holder(coinType: "${coinType}", holderId: "1") {`, "}"],
    Wallet: [`wallet(address: "0x2a") {`, "}"],
  };
  expect([...new Set(taking.map(({ on }) => on))].sort()).toEqual(Object.keys(through).toSorted());
  const requests: (readonly [Asked, string])[] = [];
  const valuesFor = createGiving();
  let streams = 0;
  for (const { on, field: described } of taking) {
    const { name: field, args } = described;
    const isStream = on === "Subscription";
    const isObject = /"kind":"OBJECT"/.test(JSON.stringify(described.type));
    const ask = (given: Readonly<Record<string, string>>, headers = {}) => {
      const needed = args.filter(
        ({ name, type: { kind } }) => kind === "NON_NULL" || name in given,
      );
      const list = needed.map(
        ({ name }) => `${name}: ${name in given ? "$made" : JSON.stringify(usual(name))}`,
      );
      const inner = list.length === 0 ? "" : `(${list.join(", ")})`;
      // A variable: the service reads and compiles the text once, not for each value.
      const variable = Object.keys(given).length === 0 ? "" : " ($made: String!)";
      const [open, close] = through[on] ?? ["", ""];
      const query = `${isStream ? "subscription" : "query"}${variable} { ${open} ${field}${inner}${isObject ? " { __typename }" : ""} ${close} }`;
      const [made] = Object.values(given);
      return graphql(query, { made }, isStream ? { ...STREAM, ...headers } : headers);
    };
    streams += isStream ? 1 : 0;
    for (const { name, type: argument } of args) {
      if ((argument.name ?? argument.ofType?.name) !== "String") continue;
      for (const [at, value] of valuesFor(name).entries()) {
        // Of a stream, a reconnection's header takes the argument's place: each gets half of the values, of every
        // form (there are four of each), and the next stream the other half.
        const isOther = (at + Math.floor(at / 4) + streams) % 2 === 0;
        const isHeader = isStream && name === "after" && isOther && /^[!-~]+$/.test(value);
        const asked = isHeader ? ask({}, { "last-event-id": value }) : ask({ [name]: value });
        requests.push([asked, `${field} ${shownIn(isHeader ? "Last-Event-ID" : name, value)}`]);
      }
    }
  }
  const headers = requests.filter(([{ headers }]) => "last-event-id" in headers);
  expect(headers.length).toBeGreaterThan(100);
  expect(await faultsOf(requests)).toEqual([]);
  // A stream that was accepted may fail later: that is in the log alone. Class 22 is "data exception".
  const refusedByPostgres = program.printed.stderr
    .split("\n")
    .filter((line) => line.includes("PostgresError") && line.includes('"code":"22'));
  expect(refusedByPostgres).toEqual([]);
}, 600_000);
