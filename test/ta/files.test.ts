/** Files among an investor's data, as callers send them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const KYC = "/api/v1/investor/kyc";

const pdf = Buffer.from("%PDF-1.7\n%âãÏÓ\n1 0 obj\n");
const file = (changes: Record<string, string | number | null> = {}) => ({
  fileName: "passport.pdf",
  contentType: "application/pdf",
  size: pdf.length,
  data: pdf.toString("base64"),
  ...changes,
});

test("files are checked immediately, with a code for each fault", async () => {
  expect((await api.post(KYC, bodyOf({ identityDocument: file() }))).status).toBe(201);
  const cases = [
    ["INVALID_REQUEST", file({ fileName: null }), "fileName"],
    ["INVALID_REQUEST", file({ size: "12" }), "size"],
    ["INVALID_DATA", file({ data: "JVBERi0xLjQ" }), "data"],
    ["INVALID_DATA", file({ data: "_-_-" }), "data"],
    ["INVALID_DATA", file({ contentType: "image/png" }), "data"],
    ["SIZE_MISMATCH", file({ size: pdf.length + 1 }), "size"],
  ] as const;
  for (const [code, proofOfAddress, member] of cases) {
    const reply = await api.post(KYC, bodyOf({ proofOfAddress }));
    expect([reply.status, reply.json.error, reply.json.code]).toEqual([400, "BAD_REQUEST", code]);
    expect(reply.json.details).toContain(`investor.proofOfAddress.${member}`);
  }
});

test("a media type may have parameters: only the type is compared with the content", async () => {
  const send = (contentType: string) =>
    api.post(KYC, bodyOf({ identityDocument: file({ contentType }) }));
  for (const contentType of [
    "application/pdf; name=x",
    'Application/PDF ;name="a \\"b\\"; c";; version=1.7',
    "application/octet-stream;charset=binary",
  ]) {
    expect((await send(contentType)).status, contentType).toBe(201);
  }
  const other = await send('image/png; name="application/pdf"');
  expect([other.status, other.json.code]).toEqual([400, "INVALID_DATA"]);
  for (const contentType of [
    "pdf",
    "application/pdf, text/plain",
    "application/pdf; name",
    "application/pdf; name=a b",
    'application/pdf; name="open',
    "application/pdf; näme=x",
    `application/pdf; name=${"x".repeat(240)}`,
    // Taken in every way that the grammar leaves open, this would not end.
    `a/b${" ; ".repeat(80)}!`,
  ]) {
    const reply = await send(contentType);
    expect([reply.status, reply.json.code], contentType).toEqual([400, "INVALID_REQUEST"]);
    expect(reply.json.details).toContain("investor.identityDocument.contentType must be");
  }
});

test("text needs no magic bytes, whatever its parameters say", async () => {
  const text = Buffer.from("Ring 1, 1010 Wien");
  const proofOfAddress = file({
    contentType: "text/plain;charset=utf-8",
    size: text.length,
    data: text.toString("base64"),
  });
  expect((await api.post(KYC, bodyOf({ proofOfAddress }))).status).toBe(201);
});

test("a file or a body over its limit is 413 with the limit", async () => {
  await using small = await startApi({ bodyBytes: 20_000, fileBytes: 1_000 });
  const data = Buffer.alloc(1_001, "a");
  const large = {
    fileName: "a.txt",
    contentType: "text/plain",
    size: 1_001,
    data: data.toString("base64"),
  };
  const tooLarge = await small.post(KYC, bodyOf({ proofOfAddress: large }));
  expect([tooLarge.status, tooLarge.json.code]).toEqual([413, "FILE_TOO_LARGE"]);
  expect(tooLarge.json.details).toContain("1000 bytes");
  const body = await small.post(KYC, bodyOf({ last_name: "x".repeat(20_000) }));
  expect([body.status, body.json.error]).toEqual([413, "BAD_REQUEST"]);
  expect(body.json.details).toContain("20000 bytes");
});
