/** Large and slow bodies, whether or not their senders can sign. */
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { errorAnswerSchema } from "../../src/ta/api/answer-schema.ts";
import { until } from "../lanes/until.ts";
import { type Api, type KeyPair, type Reply, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

const KYC = "/api/v1/investor/kyc";
const UNSIGNED = Buffer.alloc(64).toString("base64");

/** A POST by hand: its head, and as much of its body as is written to the socket. */
const begin = (api: Api, publicKey: string, length: number): Socket => {
  const { hostname, port } = new URL(api.url);
  const socket = connectSocket(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(
    [
      `POST ${KYC} HTTP/1.1`,
      `Host: ${hostname}`,
      "Content-Type: application/json",
      `Content-Length: ${length}`,
      `X-Api-Key: ${publicKey}`,
      `X-Request-Sig-B64: ${UNSIGNED}`,
    ].join("\r\n"),
  );
  socket.write("\r\n\r\n");
  return socket;
};

/** What the server says until it closes the connection. */
const answered = async (socket: Socket): Promise<string> => {
  let text = "";
  socket.on("data", (data) => {
    text += data;
  });
  if (!socket.closed) await new Promise((done) => socket.once("close", done));
  return text;
};

/** Some 90 kB once it is base64. */
const picture = Buffer.concat([
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
  Buffer.alloc(67_000),
]);

const large = (api: Api, keys: KeyPair): Promise<Reply> => {
  const proofOfAddress = {
    fileName: "bill.png",
    contentType: "image/png",
    size: picture.length,
    data: picture.toString("base64"),
  };
  return api.post(KYC, bodyOf({ proofOfAddress }), { keys });
};

const BODY_BYTES = 100_000;

test("announced bodies that never arrive take no room from others", async () => {
  await using api = await startApi({ bodyBytes: BODY_BYTES });
  const sockets = Array.from({ length: 30 }, () => {
    const socket = begin(api, api.keys.publicKey, BODY_BYTES);
    socket.write("{");
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const [own, other] = [api.keys, await api.newKeys("acme-sui")];
  for (const keys of [own, other, own]) expect((await large(api, keys)).status).toBe(201);
  for (const socket of sockets) socket.destroy();
});

test("a caller who fills the room of one key leaves some for other keys of the same address", async () => {
  await using api = await startApi({ bodyBytes: BODY_BYTES });
  const other = await api.newKeys("acme-sui");
  const sockets = Array.from({ length: 8 }, () => {
    const socket = begin(api, api.keys.publicKey, BODY_BYTES);
    socket.write(Buffer.alloc(BODY_BYTES - 1, " "));
    return socket;
  });
  const refused = await until(
    "a refusal",
    () => large(api, api.keys),
    ({ status }) => status === 503,
  );
  expect(refused.headers.get("retry-after")).toBe("3");
  expect(errorAnswerSchema.strict().parse(refused.json)).toMatchObject({
    error: "INTERNAL_ERROR",
    details: "too many large requests at once; try again in a few seconds",
  });
  expect((await large(api, other)).status).toBe(201);
  // A small one needs no room.
  expect((await api.post(KYC, bodyOf())).status).toBe(201);
  for (const socket of sockets) socket.destroy();
  await until(
    "room again",
    () => large(api, api.keys),
    ({ status }) => status === 201,
  );
});

test("a body that arrives too slowly is refused and the server closes its connection", async () => {
  const pace = { bytes: 2_000, everyMs: 200 };
  await using api = await startApi({ bodyBytes: BODY_BYTES, pace });
  const stuck = begin(api, api.keys.publicKey, BODY_BYTES);
  stuck.write("{");
  const dribbling = begin(api, api.keys.publicKey, BODY_BYTES);
  const drops = setInterval(() => dribbling.write(" "), 20);
  for (const text of await Promise.all([answered(stuck), answered(dribbling)])) {
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(text.slice(text.indexOf("{")))).toMatchObject({
      error: "BAD_REQUEST",
      details: "the body came too slowly: it must end, or bring 2000 bytes, within every 0.2 s",
    });
  }
  clearInterval(drops);
});

test("a body that keeps the required pace is read to its end, however long that takes", async () => {
  await using api = await startApi({
    bodyBytes: BODY_BYTES,
    pace: { bytes: 1_000, everyMs: 1_000 },
  });
  const socket = begin(api, api.keys.publicKey, BODY_BYTES);
  const said = answered(socket);
  const began = performance.now();
  for (let sent = 0; sent < BODY_BYTES; sent += 2_000) {
    socket.write(Buffer.alloc(2_000, " "));
    await delay(50);
  }
  expect(performance.now() - began).toBeGreaterThan(2_000);
  // Said of a whole body only.
  await until(
    "an answer",
    () => socket.bytesRead,
    (bytes) => bytes > 0,
  );
  socket.end();
  expect(await said).toMatch(/^HTTP\/1\.1 400 .*not I-JSON/s);
});
