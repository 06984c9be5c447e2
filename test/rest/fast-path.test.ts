/** The list is the same to the byte whichever way it is answered: see `src/http/fast-path.ts`. */
import { once } from "node:events";
import { connect } from "node:net";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpError } from "../../src/http/http-error.ts";
import { createKey } from "../../src/http/keys.ts";
import { appendTransferEvents } from "../../src/transfers/records.ts";
import { bytesOf } from "../../src/values/hex-bytes.ts";
import { addToken } from "../evm/logged-token.ts";
import { sendRaw } from "../http/service.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { storedRecord } from "../transfers/stored-record.ts";
import { evmAsset, type Project, serve, waitFor } from "./service.ts";

const LIST = "/r/api/v2/transfer_events";
const CHAIN = 43_113;
const ID = "00000000-0000-4000-8000-000000000003";
const hex = (n: number, digits: number) => `0x${n.toString(16).padStart(digits, "0")}` as const;
const token = hex(0xacce, 40);

const asset = evmAsset({ address: token, chainId: CHAIN, rpc: ["http://127.0.0.1:1"] });
const project: Project = { name: "acme", tokens: [asset] };

const record = (n: number) => {
  const vesting = n % 2 === 0 ? BigInt(n) : null;
  return storedRecord({
    project: "acme",
    chainId: BigInt(CHAIN),
    id: 1_700_000_000_000_000n + BigInt(n),
    block: BigInt(n),
    // From one day into the next, and beyond what four digits of a year hold.
    blockTimestamp: n === 5 ? 253_402_300_800n : 1_699_999_997n + BigInt(n),
    logIndex: n,
    txHash: bytesOf(hex(n, 64)),
    token: bytesOf(token),
    amount: BigInt(n),
    sender: bytesOf(hex(1, 40)),
    recipient: bytesOf(hex(2, 40)),
    senderGroup: vesting,
    scheduleId: vesting,
    commencementTimestamp: vesting,
    releaseCount: vesting,
    delayUntilFirstReleaseInSeconds: vesting,
    initialReleasePortionInBips: vesting,
    periodBetweenReleasesInSeconds: vesting,
  });
};

/** As a page more than is sent as text. */
const RECORDS = Array.from({ length: 30 }, (_, n) => n + 1);

let database: TestDatabase;
let key: string;

beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
  const description = { name: 'Aktien "Ö" 株', symbol: "ACME", decimals: 18 };
  await addToken(database, asset, description);
  await database.transaction((tx) => appendTransferEvents(tx, RECORDS.map(record)));
  ({ secret: key } = await createKey(database, { kind: "project", subject: "acme" }));
});

afterAll(() => database.close());

type Settings = NonNullable<Parameters<typeof serve>[2]>;

/** Two services over one database: one answers on the fast path where it can, the other one never. */
const bothWays = async (settings: Settings = {}) => {
  const opened = new AsyncDisposableStack();
  const open = async (hasFastPath: boolean) => {
    const log: Record<string, unknown>[] = [];
    const logger = pino(
      { level: "info" },
      { write: (line: string) => void log.push(JSON.parse(line)) },
    );
    const api = opened.use(await serve(database, [project], { ...settings, logger, hasFastPath }));
    /** Of requests: how long they took is another each time. */
    const lines = () =>
      log
        .filter(({ requestId }) => requestId !== undefined)
        .map(({ time: _, ms: __, ...line }) => line);
    const counts = async () =>
      (await api.get("/metrics", {})).text
        .split("\n")
        .filter((line) => /^holderbook_http_request(_duration_seconds_count|s_aborted)/.test(line))
        .filter((line) => !line.includes("/metrics"));
    return { url: api.url, lines, counts };
  };
  const [fast, long] = [await open(true), await open(false)];
  return { fast, long, [Symbol.asyncDispose]: () => opened.disposeAsync() };
};

/** What came back, but for what depends on the moment. */
const answer = async (url: string, bytes: string): Promise<string> =>
  (await sendRaw(url, bytes))
    .replaceAll(/^Date: .*$/gim, "Date: …")
    .replaceAll(/;t=\d+/g, ";t=…")
    .replaceAll(/^retry-after: \d+$/gim, "retry-after: …")
    .replaceAll(/try again in \d+ s/g, "try again in … s")
    // Beyond the quota of a test that is not about it.
    .replaceAll(/;r=\d{6,}/g, ";r=…");

type Head = Readonly<Record<string, string | readonly string[]>>;

/** The same request twice on a connection, which ends with the second; with the first in HTTP/1.0. */
const requestOf = (first: string, head: Head = {}, body = ""): string => {
  const fields = Object.entries({
    Host: "here",
    "X-Project-Api-Key": key,
    "X-Request-Id": ID,
    ...head,
  }).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}\r\n`));
  const top = `${first}\r\n${fields.join("")}`;
  const last = `${top}Connection: close\r\n\r\n${body}`;
  return first.endsWith("/1.0") ? last : `${top}\r\n${body}${last}`;
};

const get = (rest: string, head?: Head, body?: string) =>
  requestOf(`GET ${LIST}${rest} HTTP/1.1`, head, body);

test("answers, errors, log lines and counts are equal on the fast path and through the framework", async () => {
  await using ways = await bothWays();
  const { fast, long } = ways;
  const { secret: graphql } = await createKey(database, { kind: "graphql" });
  const { secret: gone } = await createKey(database, { kind: "project", subject: "gone" });
  const queries = [
    "",
    "?limit=1",
    "?limit=2&order=desc",
    "?limit=0002&after_id=1700000000000002",
    `?tx_hash=0X${"0".repeat(63)}3`,
    `?recipient_address=${hex(2, 40)}&limit=5`,
    // Refused.
    "?limit=0",
    "?limit=",
    "?limit=1001&order=up",
    "?limit=1&limit=1",
    "?limit=1&order=asc&limit=2",
    "?constructor=1",
    "?__proto__=1",
    "?Limit=1",
    // To be decoded, or odd.
    "?",
    "?&",
    "?=",
    "?limit",
    "?limit=1&",
    "?limit==1",
    "?limit=%31",
    "?lim%69t=1",
    "?limit=%zz",
    "?limit=+1",
    "?limit=1;order=desc",
    "?limit=1#order=desc",
    "?limit=1?order=desc",
    "?limit=1&order=d%C3%A9sc",
  ];
  const elsewhere = [
    `${LIST}/?limit=1`,
    `${LIST}//?limit=1`,
    `/${LIST}?limit=1`,
    LIST.replace("_", "%5F"),
    LIST.toUpperCase(),
    `${LIST};limit=1`,
    `${LIST}#limit=1`,
    `${LIST}%3Flimit=1`,
    `${LIST}s`,
    `http://there${LIST}?limit=1`,
  ];
  const heads: readonly Head[] = [
    { "X-Project-Api-Key": [] },
    { "X-Project-Api-Key": "" },
    { "X-Project-Api-Key": "wrong" },
    { "X-Project-Api-Key": "x".repeat(600) },
    { "X-Project-Api-Key": [key, key] },
    { "X-Project-Api-Key": graphql },
    { "X-Project-Api-Key": gone },
    { Host: [] },
    { Host: ["here", "there"] },
    { Host: "" },
    { Host: 'evil"><x' },
    { Host: "user@api.example:8443" },
    { "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "there", "X-Forwarded-Proto": "https" },
    { "If-None-Match": "*", "If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT" },
    { "Accept-Encoding": "gzip, br", Accept: "text/html", Range: "bytes=0-9" },
    { "Accept-Version": "9", "Content-Type": "application/json", Upgrade: "h2c" },
    { Expect: "100-continue" },
    { Expect: "a-miracle" },
    { "Content-Length": "0" },
  ];
  const asked = [
    ...queries.map((query) => get(query)),
    ...elsewhere.map((path) => requestOf(`GET ${path} HTTP/1.1`)),
    ...heads.map((head) => get("?limit=1", head)),
    get("?limit=0", { "X-Project-Api-Key": "wrong" }),
    get("?limit=1", { "Content-Length": "2" }, "{}"),
    get("?limit=1", { "Transfer-Encoding": "chunked" }, "2\r\n{}\r\n0\r\n\r\n"),
    ...["HEAD", "POST", "OPTIONS", "DELETE", "PROPFIND"].map((method) =>
      requestOf(`${method} ${LIST}?limit=1 HTTP/1.1`),
    ),
    requestOf(`GET ${LIST}?limit=1 HTTP/1.0`),
    requestOf(`GET ${LIST}?limit=1 HTTP/1.0`, { Host: [] }),
  ];
  for (const bytes of asked) {
    const expected = await answer(long.url, bytes);
    expect(await answer(fast.url, bytes), bytes).toBe(expected);
    expect(expected, bytes).toMatch(/^HTTP\/1\.1 \d{3} /);
  }
  const { length } = await waitFor(long.lines, (lines) => lines.length > asked.length);
  await waitFor(fast.lines, (lines) => lines.length >= length);
  expect(fast.lines()).toEqual(long.lines());
  expect(await fast.counts()).toEqual(await long.counts());
});

test("over the limits both paths say so, with the time to wait", async () => {
  await using ways = await bothWays({ quota: 3, attempts: 3 });
  const { fast, long } = ways;
  const asked = [
    get("?limit=1"),
    get("?limit=0"),
    get("?limit=0"),
    ...Array.from({ length: 3 }, () => get("", { "X-Project-Api-Key": "wrong" })),
  ];
  const statuses = [];
  for (const bytes of asked) {
    const expected = await answer(long.url, bytes);
    expect(await answer(fast.url, bytes), bytes).toBe(expected);
    statuses.push(...[...expected.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status));
  }
  expect(statuses.join(" ")).toBe("200 200 400 429 429 429 401 401 401 429 429 429");
});

test("behind a trusted proxy both paths use its address and host headers", async () => {
  await using ways = await bothWays({ trustProxy: true });
  const { fast, long } = ways;
  const proxied = (For: string, Host: string, Proto: string): Head => ({
    "X-Forwarded-For": For,
    "X-Forwarded-Host": Host,
    "X-Forwarded-Proto": Proto,
  });
  const heads = [
    proxied("203.0.113.9, 198.51.100.1", "api.example:8443", "https"),
    proxied("203.0.113.9", "api.example, proxy.example ", "http, https"),
    proxied("", "", ""),
    proxied("[2001:db8::9]:443, 198.51.100.1", "api.example", "https"),
    proxied("203.0.113.9:50123", "api.example", "https"),
    { ...proxied("nobody", "no host", "gopher"), "X-Forwarded-Host": ["a.example", "b.example"] },
  ];
  const links = [];
  for (const head of heads) {
    const expected = await answer(long.url, get("?limit=1", head));
    expect(await answer(fast.url, get("?limit=1", head))).toBe(expected);
    links.push(/^link: <([^?]*)/im.exec(expected)?.[1]);
  }
  expect(links.slice(0, 2)).toEqual([
    `https://api.example:8443${LIST}`,
    `https://proxy.example${LIST}`,
  ]);
  await waitFor(long.lines, (lines) => lines.length === 2 * heads.length);
  await waitFor(fast.lines, (lines) => lines.length === 2 * heads.length);
  expect(fast.lines()).toEqual(long.lines());
  const addresses = fast.lines().map(({ remoteAddress }) => remoteAddress);
  expect(addresses.filter((_, i) => i % 2 === 0)).toEqual([
    "203.0.113.9",
    "203.0.113.9",
    "127.0.0.1",
    "2001:db8::9",
    "203.0.113.9",
    // What a caller made up is no address: the proxy's takes its place.
    "127.0.0.1",
  ]);
  expect(fast.lines()[0]).toMatchObject({ route: LIST });
});

test("failures behind the key are handled alike: an error, no room, and the cause in the log", async () => {
  const broken = { raw: () => Promise.reject(new Error("password=hunter2")) };
  const full = () => {
    throw new HttpError(503, "too much is asked at once", { "retry-after": "1" });
  };
  const troubles: readonly [number, Settings][] = [
    [500, { readers: { for: () => broken } }],
    [503, { admission: { enter: full, load: { weight: 0, waiting: 0 } } }],
  ];
  for (const [status, settings] of troubles) {
    await using ways = await bothWays(settings);
    const { fast, long } = ways;
    const expected = await answer(long.url, get(""));
    expect(await answer(fast.url, get(""))).toBe(expected);
    expect(expected).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*^ratelimit: `, "m"));
    expect(expected).not.toContain("hunter2");
    const ended = ({ msg }: Record<string, unknown>) => /^request/.test(`${msg}`);
    for (const { lines } of [long, fast]) {
      await waitFor(lines, (seen) => seen.filter(ended).length === 2);
    }
    const withoutPlace = ({ err, ...line }: Record<string, unknown>) => ({
      ...line,
      message: err !== undefined,
    });
    expect(fast.lines().map(withoutPlace)).toEqual(long.lines().map(withoutPlace));
  }
});

test("a caller who hangs up is counted and logged alike, and the statement is cancelled", async () => {
  const signals: AbortSignal[] = [];
  const waiting = (signal: AbortSignal | undefined) => {
    if (signal !== undefined) signals.push(signal);
    const never = new Promise<never>((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason)),
    );
    return { raw: () => never };
  };
  await using ways = await bothWays({ readers: { for: waiting } });
  for (const [n, { url, lines, counts }] of [ways.fast, ways.long].entries()) {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(`GET ${LIST} HTTP/1.1\r\nHost: here\r\nX-Project-Api-Key: ${key}\r\n\r\n`);
    await waitFor(
      () => signals.length,
      (length) => length > n,
    );
    socket.destroy();
    await waitFor(lines, (seen) => seen.at(-1)?.msg === "hung up");
    expect(lines().at(-1)).toMatchObject({ method: "GET", route: LIST });
    expect(signals[n]?.aborted).toBe(true);
    expect((await counts()).join("\n")).toMatch(/aborted_total\{method="GET".*\} 1/);
  }
});
