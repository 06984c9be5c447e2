/** The page to read the API on, in a real browser, and the description that it is made of. */
import { randomBytes } from "node:crypto";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { callbackKeysAnswer } from "../../src/http/callback-keys.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { errorAnswer } from "../../src/http/json-schema.ts";
import { errorName } from "../../src/http/refusal.ts";
import { LIST_PATH } from "../../src/rest/part.ts";
import { transferEventSchema } from "../../src/rest/schema.ts";
import * as answers from "../../src/ta/api/answer-schema.ts";
import { taPart } from "../../src/ta/api/part.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault } from "../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { submissionSchema } from "../../src/ta/requests/investor.ts";
import { appendTransferEvents } from "../../src/transfers/records.ts";
import { bytesOf } from "../../src/values/hex-bytes.ts";
import { chromiumPath, openPage, type Page } from "../chromium.ts";
import { addToken } from "../evm/logged-token.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { storedRecord } from "../transfers/stored-record.ts";
import { type Api, evmAsset, type Project, serve } from "./service.ts";

const chromium = await chromiumPath();
if (chromium === undefined) console.warn("no chromium on this machine: its tests are skipped");

let database: TestDatabase;
let api: Api & { readonly key: string };

const CHAIN = 43_113;
const token = `0x${"acce".padStart(40, "0")}` as const;
const wallet = `0x${"abc".padStart(40, "0")}` as const;
const LARGE = 79_228_162_514_264_337_593_543_950_336n;

const asset = evmAsset({ address: token, chainId: CHAIN, rpc: ["http://127.0.0.1:1"] });
const acme: Project = { name: "acme", tokens: [asset] };
const bounds = { bodyBytes: 15_728_640, fileBytes: 5_242_880, allBodiesBytes: 268_435_456 };

beforeAll(async () => {
  database = await freshDatabase();
  await addToken(database, asset, { name: "Acme Shares", symbol: "ACME", decimals: 18 });
  const record = storedRecord({
    project: "acme",
    id: 1n,
    chainId: BigInt(CHAIN),
    token: bytesOf(token),
    amount: LARGE,
    sender: bytesOf(wallet),
    recipient: bytesOf(wallet),
  });
  await database.transaction((tx) => appendTransferEvents(tx, [record]));
  const limit = createRateLimit({ policy: "default", quota: 1_000, windowSeconds: 60 });
  const ta = taPart({
    database,
    read: database,
    keys: database,
    assets: () => new Map(),
    accept: createAcceptance({
      database,
      vault: openVault(database, ringOf([{ id: "test", key: randomBytes(32) }])),
    }),
    fingerprints: fingerprints(randomBytes(32)),
    signingKeys: await openSigningKeys(database, randomBytes(32)),
    limits: { limit, attempts: limit },
    bounds,
    platformName: "platform",
    version: "1",
  });
  api = await serve(database, [acme], { others: [ta] });
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

type Operation = { readonly summary: string };
type Description = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Description["paths"];
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly examples?: readonly unknown[] }>>;
  };
};

const description = async (): Promise<Description> =>
  JSON.parse((await api.get("/openapi.json", {})).text);

const answer = z.object({
  content: z.object({ "application/json": z.object({ example: z.unknown() }) }),
});

/** What each operation and webhook is called. */
const summaries = ({ paths, webhooks }: Description) =>
  [...Object.values(paths), ...Object.values(webhooks)]
    .flatMap((methods) => Object.values(methods))
    .map(({ summary }) => summary);

test("the script travels compressed, and a second visit does not fetch it again", async () => {
  const url = new URL("/docs/js/scalar.js", api.url);
  const script = await fetch(url);
  const text = await script.text();
  expect(script.headers.get("content-encoding")).toBe("gzip");
  expect(Number(script.headers.get("content-length"))).toBeLessThan(text.length / 3);
  const etag = script.headers.get("etag") ?? "";
  const again = await fetch(url, { headers: { "if-none-match": etag } });
  expect({ status: again.status, body: await again.text() }).toEqual({ status: 304, body: "" });
  const plain = await fetch(url, { headers: { "accept-encoding": "identity" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.text()).toBe(text);
});

test("the description is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(
    JSON.parse(JSON.stringify(await description())),
  );
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  expect(validator.version).toBe("3.1");
});

/** What a page asked of other servers than its own. */
const elsewhere = ({ requested }: Page) => {
  expect(requested).toContain(`${api.url}/openapi.json`);
  return requested.filter((url) => !/^(data|blob):/.test(url) && new URL(url).origin !== api.url);
};

/** Waits until everything is shown; nothing may come from elsewhere or go wrong. */
const showsEverything = async (page: Page) => {
  const named = summaries(await description());
  expect(named.length).toBeGreaterThanOrEqual(11);
  const shown = "document.querySelector('aside, nav')?.innerText ?? ''";
  for (const summary of named) await page.until(`(${shown}).includes(${JSON.stringify(summary)})`);
  await page.until("document.body.innerText.includes('X-Project-Api-Key')");
  expect(elsewhere(page)).toEqual([]);
  expect(page.complaints).toEqual([]);
};

test.skipIf(chromium === undefined)(
  "the page names every operation and makes no external request, even without its policy",
  async () => {
    await using page = await openPage(chromium ?? "", `${api.url}/docs`, { bypassPolicy: true });
    await showsEverything(page);
  },
);

test.skipIf(chromium === undefined)(
  "the same holds under its policy, and a tried request is answered there without the key being stored",
  async () => {
    await using page = await openPage(chromium ?? "", `${api.url}/docs`);
    await showsEverything(page);
    const button = (text: string) =>
      `[...document.querySelectorAll("button")].find((b) => b.innerText.includes(${JSON.stringify(text)}))`;
    await page.until(button("Test Request"));
    await page.evaluate(`{
      const input = document.querySelector('input[id^="scalar-refs"]:not([type=checkbox])');
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")
        .set.call(input, ${JSON.stringify(api.key)});
      input.dispatchEvent(new Event("input", { bubbles: true }));
      ${button("Test Request")}.click();
    }`);
    await page.until(button("Send get request"));
    await page.evaluate(`${button("Send get request")}.click()`);
    await page.until("document.body.innerText.includes('200 OK')");
    // Not rounded on the way to the screen.
    await page.until(`document.body.innerText.includes('"amount": ${LARGE}')`);
    expect(
      await page.evaluate("JSON.stringify([{ ...localStorage }, document.cookie])"),
    ).not.toContain(api.key);
    expect(elsewhere(page)).toEqual([]);
    expect(page.complaints).toEqual([]);
  },
);

test("its examples are accepted and returned by the APIs", async () => {
  const { paths, components } = await description();
  const { responses } = z
    .object({ responses: z.record(z.string(), answer) })
    .parse(paths[LIST_PATH]?.get);
  for (const [status, { content }] of Object.entries(responses)) {
    const { example } = content["application/json"];
    if (status === "200") z.tuple([transferEventSchema.strict()]).parse(example);
    else expect(errorAnswer.parse(example).error).toBe(errorName(Number(status)));
  }
  expect(Object.keys(responses)).toEqual([
    "200",
    "400",
    "401",
    "403",
    "404",
    "405",
    "409",
    "429",
    "500",
    "503",
  ]);

  const rules = {
    ledger: "sui",
    platformName: "platform",
    maxFileBytes: bounds.fileBytes,
  } as const;
  const schemas: Readonly<Record<string, z.ZodType>> = {
    TaSubmission: submissionSchema(rules),
    TaAccepted: answers.acceptedAnswer.strict(),
    TaWhitelistStatus: answers.whitelistStatusAnswer.strict(),
    TaRequest: answers.requestAnswer.strict(),
    TaRequests: answers.requestsAnswer.strict(),
    TaDelivery: answers.deliveryAnswer.strict(),
    TaRedelivery: answers.redeliveryAnswer.strict(),
    TaCallbackKeys: callbackKeysAnswer.strict(),
    TaHealth: answers.healthAnswer.strict(),
    TaResult: answers.resultCallback.strict(),
    TaError: answers.errorAnswerSchema.strict(),
  };
  for (const [name, schema] of Object.entries(schemas)) {
    const [example] = components.schemas[name]?.examples ?? [];
    const { error } = await schema.safeParseAsync(example);
    expect([name, error]).toEqual([name, undefined]);
  }
  expect(Object.keys(components.schemas).filter((name) => name.startsWith("Ta"))).toEqual(
    Object.keys(schemas),
  );
});
