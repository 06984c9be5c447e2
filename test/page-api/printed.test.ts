/** The register and statements as PDF. */
import { encode } from "uqr";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { publishedRoots2 } from "../../src/audit/sequence/published-roots.ts";
import {
  capTablePaper,
  MOST_PDF_ROWS,
  MOST_PDF_WALLETS,
  PdfTooLongError,
} from "../../src/evidence/exports/cap-table-pdf.ts";
import { createAdmission } from "../../src/http/edge/admission.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { pageTexts } from "../evidence/papers/pdf-reader.ts";
import { forgetDecimals } from "../log/decimals.ts";
import { type OperatorApi, serveOperator } from "../operator/service.ts";

let register: DemoRegister;
let api: OperatorApi;
let coinType = "";

beforeAll(async () => {
  register = await demoRegister();
  await register.advance(300);
  api = await serveOperator(register.database);
  [coinType = ""] = register.model.coins.keys();
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await register[Symbol.asyncDispose]();
});

const path = (what: string, query: Readonly<Record<string, string>>) =>
  `/exports/${what}?${new URLSearchParams({ coinType, ...query })}`;

test("a register as PDF has its token, checkpoint, time, root, every row with whole addresses, and page numbers, twice the same bytes", async () => {
  const asked = path("cap-table", { format: "pdf", atCheckpoint: "250" });
  const reply = await api.get(asked);
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-type")).toBe("application/pdf");
  expect(reply.headers.get("content-disposition")).toBe(
    'attachment; filename="ACME-cap-table-250.pdf"',
  );
  const { json } = await api.get(path("cap-table", { format: "json", atCheckpoint: "250" }));
  const pages = pageTexts(reply.bytes);
  const text = pages.join(" ").replaceAll(/\s/g, "");
  expect(text).toContain(coinType);
  expect(text).toContain("checkpoint250");
  expect(text).toContain(String(json.root));
  expect(text).toMatch(/Asof:\d{4}-\d\d-\d\d\d\d:\d\d:\d\dUTC/);
  const csv = await api.get(path("cap-table", { atCheckpoint: "250" }));
  const lines = csv.text.trimEnd().split("\n").slice(1);
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) {
    const [, wallets = "", balance = ""] = line.split(",");
    for (const wallet of wallets.split(" ")) expect(text).toContain(wallet);
    expect(text).toContain(balance.replace(/\B(?=(?:\d{3})+\.)/g, ","));
  }
  for (const [at, page] of pages.entries()) {
    expect(page.replaceAll(/\s/g, "")).toContain(`page${at + 1}of${pages.length}`);
  }
  expect((await api.get(asked)).bytes).toEqual(reply.bytes);
});

test("a statement as PDF shows the holding, and its root as text and as a QR code", async () => {
  const { json } = await api.get(path("cap-table", { format: "json", atCheckpoint: "250" }));
  const { rows } = z
    .object({ rows: z.array(z.object({ holderId: z.string().nullable() })) })
    .parse(json);
  const holderId = rows.find((row) => row.holderId !== null)?.holderId ?? "";
  const asked = { holderId, version: "2", atCheckpoint: "250" };
  const signed = await api.get(path("statement", asked));
  const reply = await api.get(path("statement", { ...asked, format: "pdf" }));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-disposition")).toBe(
    `attachment; filename="statement-ACME-250-holder-${holderId}.pdf"`,
  );
  const text = pageTexts(reply.bytes).join(" ").replaceAll(/\s/g, "");
  const { root, signature } = z
    .object({ root: z.string(), signature: z.string() })
    .parse(signed.json);
  expect(text).toContain(`Statementofholder${holderId}`);
  expect(text).toContain(root);
  expect(text).toContain(signature);
  // One square for each dark module of the code.
  const { data } = encode(root, { ecc: "M", border: 4 });
  const dark = data.flat().filter(Boolean).length;
  const drawn = Buffer.from(reply.bytes).toString("latin1");
  expect(drawn).toContain(`QR code: ${root}`);
  const squares = drawn.match(/^[\d.]+ [\d.]+ (\d+\.\d+) \1 re$/gm) ?? [];
  expect(squares).toHaveLength(dark);
});

test("a PDF is refused with what to do: for programs, for a register that is too long, and without decimals", async () => {
  const forPrograms = await api.get(path("cap-table", { format: "pdf", for: "programs" }));
  expect(forPrograms.status).toBe(400);
  expect(forPrograms.text).toContain("for: the format pdf is for people alone");

  const head = {
    coinType,
    decimals: 6,
    checkpoint: 1n,
    checkpointTimestamp: 1n,
    checkpointDigest: "",
    totalSupply: null,
    issued: 0n,
    holderCount: MOST_PDF_ROWS + 1,
    root: "",
  };
  const mark = { sequence: 1n, timestampMs: 1_000n, digest: "" };
  const table = { coinType, decimals: 6, totalSupply: null, symbol: "ACME", mark };
  async function* none() {}
  const tooLong = capTablePaper(table, head, none());
  await expect(tooLong).rejects.toThrow(PdfTooLongError);
  await expect(tooLong).rejects.toThrow("2001 rows, a PDF at most 2000: take csv or json");

  const wallet = { address: "0x1", balance: 1n, isFrozen: false, groupId: null };
  const row = { holderId: 1n, balance: 1n, tokens: 1n, granted: 0n, unlocked: 0n, locked: 0n };
  async function* many() {
    yield [{ ...row, wallets: Array.from({ length: MOST_PDF_WALLETS + 1 }, () => wallet) }];
  }
  await expect(capTablePaper(table, { ...head, holderCount: 1 }, many())).rejects.toThrow(
    "more wallets, a PDF at most 10000: take csv or json",
  );

  await forgetDecimals(register.database, coinType);
  const without = await api.get(path("cap-table", { format: "pdf" }));
  expect(without.status).toBe(409);
  expect(without.text).toContain("the decimals of");
});

test("a statement as PDF publishes no root before it is its turn to be printed", async () => {
  await using fresh = await demoRegister();
  await fresh.advance(60);
  const archives = createAdmission({
    ...{ perKey: 1, perProcess: 1, waitingPerKey: 0, waiting: 0, waitMs: 1 },
  });
  await using other = await serveOperator(fresh.database, { archives });
  const [coin = ""] = fresh.model.coins.keys();
  const asked = (query: Readonly<Record<string, string>>) =>
    new URLSearchParams({ coinType: coin, ...query });
  const { json } = await other.get(`/exports/cap-table?${asked({ format: "json" })}`);
  const { rows } = z
    .object({ rows: z.array(z.object({ wallets: z.array(z.object({ address: z.string() })) })) })
    .parse(json);
  const owner = rows[0]?.wallets[0]?.address ?? "";
  const statement = `/exports/statement?${asked({ owner, format: "pdf", version: "2" })}`;
  const roots = async () =>
    (await publishedRoots2(fresh.database, { coinType: coin, limit: 9 })).length;
  const slot = await archives.enter("another", 1);
  expect((await other.get(statement)).status).toBe(503);
  expect(await roots()).toBe(0);
  slot.left();
  expect((await other.get(statement)).status).toBe(200);
  expect(await roots()).toBe(1);
});
