import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { expect, test } from "vitest";
import { openOutbound, type Resolve } from "../../src/callbacks/outbound.ts";
import {
  CallbackAddressError,
  checkCallbackUrl,
  ReceiverTimeoutError,
  ReceiverUnreachableError,
} from "../../src/callbacks/outbound-policy.ts";
import { until } from "../lanes/until.ts";
import { selfSigned } from "./tls.ts";

const LOCAL = { allowPrivate: true };
const PUBLIC = { allowPrivate: false };

/** A server on loopback and the connections it got. */
const listening = async (server: Server) => {
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const answering = (listener: RequestListener) =>
  listening(
    createServer((request, response) => {
      request.resume().on("end", () => listener(request, response));
    }),
  );

const post = { headers: { "content-type": "application/json" }, body: Buffer.from("{}") };

/** Answers of a name server, one after the other. */
const resolving = (...answers: string[][]): Resolve & { readonly asked: string[] } => {
  const asked: string[] = [];
  const resolve = async (hostname: string) => {
    asked.push(hostname);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return Object.assign(resolve, { asked });
};

test("only https, to known ports, without credentials, may be called", () => {
  const refused: [string, RegExp][] = [
    ["http://hooks.example/", /must begin with https:\/\//],
    ["ftp://hooks.example/", /must begin with https/],
    ["file:///etc/passwd", /must begin with https/],
    ["https://hooks.example:22/", /uses port 22; open are 443/],
    ["https://user:secret@hooks.example/", /must not hold a user name or password/],
    ["hooks.example", /is not a URL/],
    [`https://hooks.example/${"x".repeat(2_048)}`, /longer than 2048/],
  ];
  for (const [url, message] of refused) {
    expect(() => checkCallbackUrl(url, PUBLIC)).toThrow(CallbackAddressError);
    expect(() => checkCallbackUrl(url, PUBLIC)).toThrow(message);
  }
  expect(() => checkCallbackUrl("https://hooks.example/a?b=c", PUBLIC)).not.toThrow();
  expect(() =>
    checkCallbackUrl("https://hooks.example:8443/", { ...PUBLIC, ports: [8443] }),
  ).not.toThrow();
  expect(() => checkCallbackUrl("http://127.0.0.1:4001/", LOCAL)).not.toThrow();
  expect(() => checkCallbackUrl("ftp://127.0.0.1/", LOCAL)).toThrow(/https: or http:/);
});

test("an address written as a number is refused in every spelling when it points inward", () => {
  for (const host of [
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    "017700000001",
    "[::1]",
    "[::ffff:7f00:1]",
  ]) {
    expect(() => checkCallbackUrl(`https://${host}/`, PUBLIC)).toThrow(/not public/);
  }
  for (const host of ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[64:ff9b::a9fe:a9fe]"]) {
    expect(() => checkCallbackUrl(`http://${host}/`, LOCAL)).toThrow(/not public/);
  }
});

test("a name that resolves inward is refused without a connection, alone or among public addresses", async () => {
  await using server = await answering((_request, response) => response.end());
  for (const answer of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"], []]) {
    const resolve = resolving(answer);
    const outbound = openOutbound({ policy: { ...PUBLIC, ports: [server.port] }, resolve });
    const failure = await outbound
      .post({ ...post, url: `https://rebind.example:${server.port}/` })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CallbackAddressError);
    // An answer that named the address would be a map of the network behind us.
    expect(String(failure)).not.toMatch(/127|::1/);
  }
  expect(server.sockets).toEqual([]);
});

test("the connection goes to the checked address: rebinding a name gains nothing", async () => {
  await using server = await answering((_request, response) => {
    response.writeHead(204, { connection: "close" }).end();
  });
  // First where it may go, then, as a rebinding name server would, where nothing may go.
  const resolve = resolving(["127.0.0.1"], ["169.254.169.254"]);
  const outbound = openOutbound({ policy: LOCAL, resolve });
  const url = `http://rebind.example:${server.port}/`;
  expect(await outbound.post({ ...post, url })).toMatchObject({ statusCode: 204 });
  // One question per connection: there is no second answer between check and use.
  expect(resolve.asked).toEqual(["rebind.example"]);
  expect(server.sockets).toHaveLength(1);
  await expect(outbound.post({ ...post, url })).rejects.toThrow(CallbackAddressError);
  expect(resolve.asked).toHaveLength(2);
  expect(server.sockets).toHaveLength(1);
});

test("a redirect is an ordinary answer; its target is not called", async () => {
  await using target = await answering((_request, response) => response.end());
  await using server = await answering((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${target.port}/` }).end();
  });
  const outbound = openOutbound({ policy: LOCAL });
  const answer = await outbound.post({ ...post, url: `http://127.0.0.1:${server.port}/` });
  expect(answer.statusCode).toBe(302);
  expect(target.sockets).toEqual([]);
  outbound.close();
});

test("connections are reused, and one closed by the receiver is replaced", async () => {
  let requests = 0;
  await using server = await answering((_request, response) => {
    requests += 1;
    response.end("ok");
  });
  const outbound = openOutbound({ policy: LOCAL });
  const url = `http://127.0.0.1:${server.port}/`;
  for (let index = 0; index < 5; index += 1) {
    expect((await outbound.post({ ...post, url })).statusCode).toBe(200);
    // The end of the body is handled in this turn of the event loop; then the connection is free.
    await new Promise((resolve) => setImmediate(resolve));
  }
  // What the receiver's end looks like to us at the moment we use it again.
  for (const socket of server.sockets) socket.resetAndDestroy();
  expect((await outbound.post({ ...post, url })).statusCode).toBe(200);
  expect(requests).toBe(6);
  expect(server.sockets).toHaveLength(2);
  outbound.close();
});

test("an endless body is cut off and the answer still counts", async () => {
  let sent = 0;
  await using server = await answering((_request, response) => {
    response.writeHead(200);
    const more = () => {
      sent += 16_384;
      if (!response.destroyed) response.write(Buffer.alloc(16_384), () => setImmediate(more));
    };
    more();
  });
  const outbound = openOutbound({ policy: LOCAL, limits: { bodyBytes: 64 * 1024 } });
  const answer = await outbound.post({ ...post, url: `http://127.0.0.1:${server.port}/` });
  expect(answer.statusCode).toBe(200);
  await until(
    "the connection to be closed",
    () => server.sockets.map(({ destroyed }) => destroyed),
    ([destroyed]) => destroyed === true,
  );
  // What fits into the buffers of both sockets was on its way.
  expect(sent).toBeLessThan(16 * 1024 * 1024);
});

test("a trickling body is cut off by time", async () => {
  await using server = await answering((_request, response) => {
    response.writeHead(200).write("a");
  });
  const outbound = openOutbound({ policy: LOCAL, limits: { drainMs: 100 } });
  await outbound.post({ ...post, url: `http://127.0.0.1:${server.port}/` });
  await until(
    "the connection to be closed",
    () => server.sockets.map(({ destroyed }) => destroyed),
    ([destroyed]) => destroyed === true,
  );
});

test("endless headers are refused", async () => {
  await using server = await answering((_request, response) => {
    response.writeHead(200, { "x-long": "x".repeat(64 * 1024) }).end();
  });
  const outbound = openOutbound({ policy: LOCAL });
  const sending = outbound.post({ ...post, url: `http://127.0.0.1:${server.port}/` });
  await expect(sending).rejects.toThrow("the headers of the answer are too long");
});

test("response and connection timeouts are named as such", async () => {
  await using silent = await answering(() => undefined);
  const outbound = openOutbound({ policy: LOCAL, limits: { answerMs: 150, connectMs: 100 } });
  const answer = outbound.post({ ...post, url: `http://127.0.0.1:${silent.port}/` });
  await expect(answer).rejects.toThrow(ReceiverTimeoutError);
  await expect(answer).rejects.toThrow("the receiver did not answer within 0.15 s");
  // Accepts connections and never says a word: TLS does not come about.
  await using deaf = await listening(createTcpServer());
  const connecting = outbound.post({ ...post, url: `https://127.0.0.1:${deaf.port}/` });
  await expect(connecting).rejects.toThrow("the receiver did not connect within 0.1 s");
});

test("a request is given up when its signal aborts", async () => {
  await using silent = await answering(() => undefined);
  const outbound = openOutbound({ policy: LOCAL });
  const abort = new AbortController();
  const sending = outbound.post({
    ...post,
    url: `http://127.0.0.1:${silent.port}/`,
    signal: abort.signal,
  });
  await until(
    "the request",
    () => silent.sockets.length,
    (count) => count === 1,
  );
  abort.abort(new Error("the process stops"));
  await expect(sending).rejects.toThrow("the process stops");
  await expect(
    outbound.post({ ...post, url: `http://127.0.0.1:${silent.port}/`, signal: abort.signal }),
  ).rejects.toThrow("the process stops");
});

test("a request that waits for a free connection is given up when its signal aborts", async () => {
  await using silent = await answering(() => undefined);
  const outbound = openOutbound({ policy: LOCAL });
  const url = `http://127.0.0.1:${silent.port}/`;
  const sending = Array.from({ length: 64 }, () => outbound.post({ ...post, url }));
  const ended = Promise.allSettled(sending);
  await until(
    "as many connections as one receiver gets",
    () => silent.sockets.length,
    (count) => count === sending.length,
  );
  const abort = new AbortController();
  const waiting = outbound.post({ ...post, url, signal: abort.signal });
  abort.abort(new Error("the process stops"));
  await expect(waiting).rejects.toThrow("the process stops");
  outbound.close();
  await ended;
});

test("answers that are not HTTP and hang-ups are failures without an address in the message", async () => {
  await using garbage = await listening(
    createTcpServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n")),
  );
  await using hangup = await listening(createTcpServer((socket) => socket.destroy()));
  await using upgrade = await listening(
    createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () =>
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        ),
      );
    }),
  );
  const outbound = openOutbound({ policy: LOCAL });
  for (const { port } of [garbage, hangup, upgrade, { port: 1 }]) {
    const failure = await outbound
      .post({ ...post, url: `http://localhost:${port}/` })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ReceiverUnreachableError);
    expect(String(failure)).not.toMatch(/127\.0\.0\.1|::1/);
  }
});

const certificate = await selfSigned();
if (certificate === undefined) console.warn("no openssl on this machine: the TLS test is skipped");

test.skipIf(certificate === undefined)(
  "TLS is verified against the host name although the connection goes to a checked address",
  async () => {
    const tls = createTlsServer(certificate ?? {}, (request, response) => {
      request.resume().on("end", () => response.writeHead(200).end());
    });
    await using server = await listening(tls);
    const resolve = resolving(["127.0.0.1"]);
    const ca = certificate?.cert ?? "";
    const trusting = openOutbound({ policy: LOCAL, resolve, ca });
    const url = (host: string) => `https://${host}:${server.port}/`;
    expect(await trusting.post({ ...post, url: url("receiver.test") })).toMatchObject({
      statusCode: 200,
    });
    await expect(trusting.post({ ...post, url: url("other.test") })).rejects.toThrow(
      "ERR_TLS_CERT_ALTNAME_INVALID",
    );
    const strict = openOutbound({ policy: LOCAL, resolve });
    await expect(strict.post({ ...post, url: url("receiver.test") })).rejects.toThrow(
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    );
    trusting.close();
  },
);
