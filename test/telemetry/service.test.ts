/**
 * A service as a user starts it, watched from outside: by its operator while the signer that keeps its deployment's key
 * is away, by Prometheus, by a collector of traces, and by whoever looks for personal data in all that comes out of it.
 * In the order of the tests.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { generateKeyPair, type JsonValue, signRequest } from "../../client/index.ts";
import { dashboard } from "../../deploy/grafana/dashboard.ts";
import { registerPublicKey } from "../../src/http/keys.ts";
import { investorLanes } from "../../src/ta/requests/lanes.ts";
import { findMetric, METRIC_NAMES } from "../../src/telemetry/catalogue.ts";
import { batchTrace, requestTrace } from "../../src/telemetry/tracing.ts";
import { type RunningSigner, startSigner, TOKEN } from "../audit/signers.ts";
import { type Receiver, startReceiver } from "../callbacks/receiver.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";
import { sealedRecords } from "../ta/pii-accesses.ts";
import { bodyOf } from "../ta/submissions.ts";
import { type Collector, startCollector } from "./collector.ts";
import { metricsIn } from "./expressions.ts";

/** Checkpoints that there are at once. */
const HISTORY = 101;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: TestDatabase;
let collector: Collector;
let receiver: Receiver;
let signer: RunningSigner;
let program: Program;
let url: string;
let key: string;
/** Of the wallet's whitelisting, once it was asked for. */
let requestId: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  database = await freshDatabase();
  collector = await startCollector();
  receiver = await startReceiver();
  signer = await startSigner();
  await signer.stop();
  program = startProgram(["start"], {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    DEMO_HISTORY: `${HISTORY}`,
    DEMO_CHECKPOINTS_PER_SECOND: "1",
    DEMO_CALLBACK_URL: receiver.url,
    // All that may be logged: nothing personal is looked for in it.
    LOG_LEVEL: "trace",
    PORT: "0",
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`,
    OTEL_SERVICE_NAME: "acme-register",
    ...signer.settings,
  });
  [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  [, key = ""] = await program.sees(/Key\s+(\S+)/);
}, 180_000);
afterAll(async () => {
  await program?.[Symbol.asyncDispose]();
  await signer?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
  await database?.close();
  await folder?.[Symbol.asyncDispose]();
});

const health = z.object({
  pipelines: z.array(z.object({ checkpoint: z.string().nullable() })),
  notes: z.array(z.object({ reason: z.string() })).default([]),
});
const heads = z.object({ heads: z.array(z.object({ keyId: z.string() })) });
const keys = z.object({ keys: z.array(z.object({ publicKey: z.string() })) });

test("a service that starts while its signer is away indexes, serves and reports it in /health, signs when the signer is back, and reports a key that follows", async () => {
  const get = async (path: string) => (await fetch(`${url}${path}`)).json();
  const isAway = ({ reason }: { readonly reason: string }) =>
    /keeps the deployment's key, does not answer/.test(reason);
  await eventually("an indexed log, and a note", async () => {
    const seen = health.parse(await get("/health"));
    const isRead = seen.pipelines.every(
      ({ checkpoint }) => Number(checkpoint ?? -1) >= HISTORY - 1,
    );
    return isRead && seen.notes.filter(isAway).length === 1 ? { done: seen } : { seen };
  });
  expect(heads.parse(await get("/log-heads"))).toEqual({ heads: [] });
  expect(keys.parse(await get("/deployment-keys"))).toEqual({ keys: [] });
  await signer.start();
  await eventually("a signed head, and no note", async () => {
    const signed = heads.parse(await get("/log-heads"));
    const { notes } = health.parse(await get("/health"));
    const isDone = signed.heads.length > 0 && !notes.some(isAway);
    return isDone ? { done: signed } : { seen: { signed, notes } };
  });
  expect(keys.parse(await get("/deployment-keys"))).toEqual({
    keys: [{ publicKey: signer.publicKey }],
  });

  await using next = await startSigner();
  const rotating = {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    DEPLOYMENT_SIGNER_BEFORE_TOKEN: TOKEN,
    ...next.settings,
  };
  const rotated = await runCommand(["keys", "rotate", "--signer-before", signer.url], rotating);
  expect(rotated).toMatchObject({ code: 0 });
  await eventually("a note that the service has to be started again", async () => {
    const { notes } = health.parse(await get("/health"));
    const isSaid = notes.some(({ reason }) => /continues with the key .* Restart it/.test(reason));
    return isSaid ? { done: notes } : { seen: notes };
  });
  const said = `${program.printed.stdout}${program.printed.stderr}`;
  expect(said).not.toContain(TOKEN);
}, 300_000);

const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();

/** Sum of all series of a name. */
const sumOf = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );

/** Spans of a trace by name, once the collector has these. */
const spansOf = (traceId: string, names: readonly string[]) =>
  eventually(`spans of ${traceId}`, async () => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const seen = spans.map(({ name }) => name);
    return names.every((name) => seen.includes(name)) ? { done: spans } : { seen };
  });

test("whitelisting a wallet is one trace, from the request to the callback, over both processes", async () => {
  const pair = z.object({ publicKey: z.string(), secretKey: z.string() });
  const file = await eventually("the demo's key", async () => {
    const [, path = ""] = /--key (\S+)/.exec(program.printed.stdout) ?? [];
    return path === "" ? { seen: program.printed.stdout } : { done: path };
  });
  const text = await readFile(join("/", file), "utf8").catch(() =>
    readFile(join(folder.path, file.split("/").at(-1) ?? ""), "utf8"),
  );
  const { secretKey } = pair.parse(JSON.parse(text));
  const wallet = `0x${"5e".repeat(32)}`;
  const body = bodyOf({ id: "traced", blockchain_wallet: wallet });
  const { headers } = signRequest({ secretKey, body, path: "/api/v1/investor/whitelist" });
  const response = await fetch(`${url}/api/v1/investor/whitelist`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  ({ requestId } = z.object({ requestId: z.string() }).parse(await response.json()));

  const { traceId, rootId } = requestTrace(requestId);
  const steps = [
    "accept request",
    "sign transaction",
    "submit transaction",
    "execute transaction",
    "register shows checkpoint",
    "deliver callback",
  ];
  const spans = await spansOf(traceId, steps);
  const byName = new Map(spans.map((span) => [span.name, span]));
  expect(spans).toHaveLength(steps.length);
  // One root, and all others below it.
  const root = byName.get("accept request");
  expect(root).toMatchObject({ spanId: rootId, attributes: { requestId, asset: "demo-a" } });
  expect(root?.parentSpanId ?? "").toBe("");
  for (const span of spans) {
    if (span !== root) expect(span.parentSpanId, span.name).toBe(rootId);
    expect(span.endTimeUnixNano).toBeGreaterThanOrEqual(span.startTimeUnixNano);
    expect(span.status.code ?? 0, span.name).toBe(0);
    expect(span.resource).toMatchObject({ "service.name": "acme-register" });
  }
  const begins = steps.map((name) => byName.get(name)?.startTimeUnixNano ?? 0n);
  expect(begins).toEqual(begins.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(byName.get("deliver callback")?.attributes).toMatchObject({
    callback: `ta-${requestId}`,
    attempt: 1,
    statusCode: 204,
  });
  const checkpoint = byName.get("execute transaction")?.attributes.checkpoint;
  expect(checkpoint).toMatch(/^\d+$/);
  expect(byName.get("register shows checkpoint")?.attributes.checkpoint).toBe(checkpoint);
  const processes = spans.map(({ name, resource }) => [name, resource["holderbook.process"]]);
  expect(processes.filter(([, process]) => process === "serving")).toEqual([
    ["accept request", "serving"],
  ]);
  // Nothing of the investor, and not the wallet.
  expect(
    JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? `${value}` : value)),
  ).not.toMatch(/Grete|Muster|grete|5e5e5e|traced/);
  expect(collector.asked).toEqual(new Set(["POST /v1/traces application/json"]));
});

test("log lines of the request carry the trace's id, and those of other requests do not", async () => {
  await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ query: "{ indexerStatus { pipeline } }" }),
  });
  const lines = await eventually("lines of requests", async () => {
    const found = program.printed.stderr
      .split("\n")
      .filter((each) => each.includes('"msg":"request"'))
      .map(
        (each): Record<string, unknown> =>
          z.record(z.string(), z.unknown()).parse(JSON.parse(each)),
      );
    return found.some(({ route }) => route === "/graphql") ? { done: found } : { seen: found };
  });
  const { traceId } = requestTrace(requestId);
  const traced = lines.filter((each) => "traceId" in each);
  expect(traced.map((each) => [each.route, each.traceId])).toEqual([
    ["/api/v1/investor/whitelist", traceId],
  ]);
});

test("a checkpoint is one trace: decoded, proven, appended, and applied by every pipeline", async () => {
  const root = await eventually("a checkpoint's trace", async () => {
    const found = collector.spans.find(({ name }) => name === "checkpoint");
    return found === undefined ? { seen: collector.spans.length } : { done: found };
  });
  const { digest } = z.object({ digest: z.string() }).parse(root.attributes);
  expect(root).toMatchObject({
    traceId: batchTrace(digest).traceId,
    spanId: batchTrace(digest).rootId,
  });
  // Of the newest ones: while catching up, pipelines trace other batches than the reader.
  const whole = await eventually("a trace of all pipelines", async () => {
    const roots = collector.spans.filter(({ name }) => name === "checkpoint");
    const traces = roots.map(({ traceId }) =>
      collector.spans.filter((each) => each.traceId === traceId),
    );
    const found = traces.find(
      (spans) => spans.filter(({ name }) => name === "apply facts").length === 5,
    );
    return found === undefined ? { seen: traces.at(-1)?.map(({ name }) => name) } : { done: found };
  });
  expect(new Set(whole.map(({ name }) => name))).toEqual(
    new Set([
      "checkpoint",
      "decode checkpoints",
      "verify signatures",
      "append facts",
      "apply facts",
    ]),
  );
  expect(new Set(whole.map(({ attributes }) => attributes.pipeline ?? "reader")).size).toBe(6);
});

/** Figures that a demo never has: no EVM chain, no network, no retention, nothing read guided, nothing that fails. */
const NOT_HERE =
  /^holderbook_(evm_|transfer_events_|source_(request|errors)|data_disk_|retention_|guided_|backfill_|replica_)/;

test("/metrics shows the metrics of both processes, and none outside the catalogue", async () => {
  const text = await eventually("figures of the work done", async () => {
    const seen = await scrape();
    const attempts = sumOf(seen, "holderbook_callback_attempt_seconds_count");
    const answered = sumOf(seen, "holderbook_http_request_duration_seconds_count");
    const queue = sumOf(seen, "holderbook_queue_up");
    return attempts > 0 && answered > 0 && queue > 0
      ? { done: seen }
      : { seen: { attempts, answered, queue } };
  });
  const shown = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  expect(new Set(shown.map(([, name]) => name)).size).toBe(shown.length);
  for (const [, name = "", type] of shown)
    expect([name, findMetric(name)?.type]).toEqual([name, type]);
  // Every sample belongs to one of them, and has the labels of the catalogue.
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z]\w+)(?:\{(.*)\})? \S+$/gm)) {
    const [base = ""] = metricsIn(name);
    const described = findMetric(base);
    const named = [...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label);
    const known = [...(described?.labels ?? []), "le", "version", "kind", "space", "type"];
    expect(
      named.filter((label) => !known.includes(label)),
      name,
    ).toEqual([]);
    expect(described, name).toBeDefined();
  }
  const names = new Set(shown.map(([, name]) => name));
  expect(METRIC_NAMES.filter((name) => !names.has(name) && !NOT_HERE.test(name))).toEqual([]);
  expect(sumOf(text, "holderbook_reader_checkpoints_total")).toBeGreaterThan(100);
  expect(sumOf(text, "holderbook_pipeline_checkpoints_total")).toBeGreaterThan(500);
  expect(text).toMatch(/holderbook_verified_checkpoints_total\{level="signatures"\} [1-9]/);
  expect(text).toMatch(/holderbook_event_loop_active_seconds_total\{process="indexing"\} /);
  expect(text).toMatch(/holderbook_event_loop_active_seconds_total\{process="serving"\} /);
  expect(text).toMatch(/holderbook_callback_attempt_seconds_count\{outcome="delivered"\} [1-9]/);
});

test("every panel of the dashboard uses series that the service exposes", async () => {
  const text = await scrape();
  const panels = z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string() })).optional(),
    }),
  );
  const drawn = panels.parse(JSON.parse(JSON.stringify(dashboard().panels)));
  const asked = drawn.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, names: metricsIn(expr) })),
  );
  expect(asked.length).toBeGreaterThan(60);
  const missing = asked.flatMap(({ title, names }) => {
    expect(names.length, title).toBeGreaterThan(0);
    return names.filter((name) => !text.includes(`# TYPE ${name} `) && !NOT_HERE.test(name));
  });
  expect(missing).toEqual([]);
});

/** Values that must not turn up anywhere; none of them is part of another text by chance. */
const planted = {
  first_name: "Wilhelmxqz",
  last_name: "Zanzibarowiczxq",
  email: "wilhelm.xqz@planted-domain.example",
  dob: "1971-03-29",
  street: "77 Quetzalcoatlus Lane",
  city: "Plantedsbury",
  postalCode: "QX99ZZ",
  primary_phone: "+14155557391",
  tin: "TIN-48151623",
  ssn: "483-19-7260",
  passportNumber: "XQP8842917",
  fileName: "passport-of-wilhelmxqz.pdf",
};

const file = Buffer.from(`%PDF-1.4 ${"planted file content ".repeat(20)}`);

const investorOf = (id: string, wallet: string) => {
  const { street, city, postalCode, fileName, ...rest } = planted;
  return {
    ...rest,
    id,
    full_address: { street, city, countryCode: "US", postalCode },
    blockchain_wallet: wallet,
    identityDocumentCountry: "US",
    identityDocument: {
      fileName,
      contentType: "application/pdf",
      size: file.length,
      data: file.toString("base64"),
    },
  };
};

/** Everything in every table of every schema, queue included, as text; bytes in hex and as text. */
const dump = async (database: TestDatabase): Promise<string> => {
  const tables = await database.sql<{ name: string }[]>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await database.sql.unsafe<{ row: string }[]>(
        `select to_json(t)::text as row from ${name} t`,
      );
      return rows.map(({ row }) => row).join("\n");
    }),
  );
  const all = texts.join("\n");
  const bytes = [...all.matchAll(/\\\\x([0-9a-f]{8,})/g)].map(([, hex = ""]) =>
    Buffer.from(hex, "hex").toString("latin1"),
  );
  return `${all}\n${bytes.join("\n")}`;
};

/** Keeps every row that a queue ever holds: a job's is gone once it is done. */
const keepQueued = async ({ sql }: TestDatabase): Promise<void> => {
  const tables = await eventually("the queue's tables", async () => {
    const found = await sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname = 'holderbook_queue'`;
    return found.some(({ name }) => name.includes("job")) ? { done: found } : { seen: found };
  });
  await sql.unsafe(`
    create table kept_of_queues (row text not null);
    create function keep_of_queue() returns trigger language plpgsql as $$
      begin insert into public.kept_of_queues values (to_json(new)::text); return new; end $$;`);
  for (const { name } of tables) {
    await sql.unsafe(`
      create trigger kept after insert or update on ${name}
      for each row execute function public.keep_of_queue()`);
  }
};

test("logs, metrics, traces, answers, callbacks, the queue and a database backup contain no personal data", {
  timeout: 120_000,
}, async () => {
  await keepQueued(database);
  const { publicKey, secretKey } = generateKeyPair();
  await registerPublicKey(database, { asset: "demo-a", publicKey });

  const known = receiver.accepted().length;
  const answers: string[] = [];
  const post = async (path: string, body: JsonValue, spoil = "") => {
    const { headers } = signRequest({ secretKey, body });
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: `${JSON.stringify(body)}${spoil}`,
    });
    const text = await response.text();
    answers.push(text);
    return { status: response.status, text };
  };
  const wallet = `0x${randomBytes(32).toString("hex")}`;
  const whitelist = "/api/v1/investor/whitelist";
  const kyc = "/api/v1/investor/kyc";
  const accepted = z.object({ requestId: z.string() });
  const { status, text } = await post(whitelist, { investor: investorOf("inv-1", wallet) });
  expect({ status, text }).toMatchObject({ status: 201 });
  await post(kyc, { investor: investorOf("inv-1", wallet) });
  const last = await post(whitelist, {
    investor: investorOf("inv-1", wallet),
    verifiedStatus: false,
  });
  expect(last.status).toBe(201);
  // What is refused must not be repeated either, member by member, nor as a whole.
  for (const [member, value] of Object.entries(planted)) {
    const wrong = { ...investorOf("inv-2", wallet), [member]: `${value} \u0007 not valid` };
    await post(kyc, { investor: { ...wrong, dob: 5, email: planted.last_name } });
  }
  await post(kyc, { investor: investorOf("inv-3", planted.street) });
  await post(kyc, { investor: investorOf("inv-4", wallet) }, "}");

  await eventually("three callbacks", async () => {
    const seen = receiver.accepted().slice(known);
    return seen.length >= 3 ? { done: seen } : { seen };
  });
  const { requestId } = accepted.parse(JSON.parse(text));
  expect(receiver.received[known]?.body).toContain(requestId);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const stored = await dump(database);
  // The sources are what they should be: a search through nothing finds nothing.
  expect(program.printed.stderr).toContain("/api/v1/investor/whitelist");
  expect(stored).toContain(requestId);
  expect(stored).toContain("inv-1");
  expect(metrics).toContain("holderbook_");
  const kept = await database.sql<{ row: string }[]>`select row from kept_of_queues`;
  const queued = kept.map(({ row }) => row).join("\n");
  expect(queued).toContain(investorLanes.queue);
  expect(queued).toMatch(/\blane\b/);
  const places = {
    logs: program.printed.stdout + program.printed.stderr,
    answers: answers.join("\n"),
    callbacks: receiver.received.map((one) => one.body + JSON.stringify(one.headers)).join("\n"),
    metrics,
    traces: JSON.stringify(collector.spans, (_, value) =>
      typeof value === "bigint" ? `${value}` : value,
    ),
    queued,
    database: stored,
  };
  const sought = { ...planted, file: file.toString("base64").slice(0, 64), text: "planted file" };
  for (const [place, all] of Object.entries(places)) {
    for (const [member, value] of Object.entries(sought)) {
      const found = all.includes(value) || all.includes(Buffer.from(value).toString("base64"));
      expect({ place, member, found }).toEqual({ place, member, found: false });
    }
  }
  // The data are there all the same, for anyone with the key.
  expect(await sealedRecords(database)).toBeGreaterThanOrEqual(3);
});
