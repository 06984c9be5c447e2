/** A deployment's key that a signer outside keeps. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { DeploymentKeyError, openDeploymentKey } from "../../src/audit/sequence/deployment-key.ts";
import {
  outsideSigner,
  SignerAnswerError,
  SignerAwayError,
} from "../../src/audit/sequence/outside-signer.ts";
import { appendEntry } from "../../src/audit/sequence/sequence.ts";
import { watchOver } from "../../src/audit/watch/watch.ts";
import { openLog } from "../../src/log/log.ts";
import { batch, fact, PACKAGE } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { entriesOf, sequenceFaults } from "./sequence-entries.ts";
import { type RunningSigner, startSigner, TOKEN } from "./signers.ts";

const noMasterKey = () => Promise.reject(new Error("no master key is needed"));

const openIn = async () => {
  const database = await freshDatabase();
  await openLog(database, { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n });
  return database;
};

const keyOf = (
  database: TestDatabase,
  { url, publicKey }: Pick<RunningSigner, "url" | "publicKey">,
  token = TOKEN,
) => openDeploymentKey(database, noMasterKey, outsideSigner({ url, publicKey, token }));

const rows = (database: TestDatabase) =>
  database.sql<{ key_id: string; sealed: boolean }[]>`
    select key_id, sealed_secret is not null as sealed from deployment_keys`;

const act = (database: TestDatabase, key: Awaited<ReturnType<typeof keyOf>>, what: string) =>
  database.transaction(({ sql }) => appendEntry(sql, key, "correction", { what }));

test("a signer's key becomes the deployment's with its first signature, without a master key", async () => {
  await using database = await openIn();
  await using signer = await startSigner();
  const key = await keyOf(database, signer);
  expect(await rows(database)).toEqual([]);
  const entry = await act(database, key, "one");
  expect(entry).toMatchObject({ number: "1", keyId: key.keyId });
  expect(await rows(database)).toEqual([{ key_id: key.keyId, sealed: false }]);
  await act(database, await keyOf(database, signer), "two");
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("of two processes that start with different signers, one makes the first key and the other signs nothing", async () => {
  await using database = await openIn();
  await using signer = await startSigner();
  await using other = await startSigner();
  const keys = [await keyOf(database, signer), await keyOf(database, other)];
  const done = await Promise.allSettled(
    keys.map((key) => key.sign({ purpose: "holderbook-key-possession-v1" })),
  );
  expect(done.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(await rows(database)).toHaveLength(1);
});

test("while the signer is away no part of an entry is written, and the next one is signed when it is back", async () => {
  await using database = await openIn();
  await using own = await startSigner();
  await own.stop();
  // Before the first signature, too: a signer that was never there has no key to name.
  await expect(act(database, await keyOf(database, own), "none")).rejects.toThrow(SignerAwayError);
  expect([await rows(database), await entriesOf(database.sql)]).toEqual([[], []]);
  await own.start();
  await act(database, await keyOf(database, own), "one");
  own.hide();
  const before = await entriesOf(database.sql);
  await expect(act(database, await keyOf(database, own), "two")).rejects.toThrow(/answers 503/);
  expect(await entriesOf(database.sql)).toEqual(before);
  own.show();
  await act(database, await keyOf(database, own), "two");
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("a signature by another key and a refusal have their own errors and are not stored", async () => {
  await using database = await openIn();
  await using signer = await startSigner();
  await using other = await startSigner();
  const { publicKey } = signer;
  const wrong = await keyOf(database, { ...other, publicKey });
  await expect(act(database, wrong, "one")).rejects.toThrow(SignerAnswerError);
  await expect(act(database, wrong, "one")).rejects.toThrow(/is not one of the key/);
  const refused = await keyOf(database, signer, "another token");
  await expect(act(database, refused, "one")).rejects.toThrow(/refuses to sign \(401\)/);
  expect([await rows(database), await entriesOf(database.sql)]).toEqual([[], []]);
});

test("redirects are not followed; answers that are too long or end early are rejected", async () => {
  await using signer = await startSigner();
  const answers: Record<string, (response: ServerResponse) => void> = {
    "/elsewhere": (response) => response.writeHead(307, { location: signer.url }).end(),
    "/long": (response) => response.writeHead(200).end(Buffer.alloc(4 * 1024 * 1024, " ")),
    "/short": (response) => {
      response.writeHead(200, { "content-length": "120" }).write('{"signature":"');
      response.destroy();
    },
  };
  const server = createHttpServer(({ url = "" }, response) => answers[url]?.(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("it has no port");
    const { publicKey } = signer;
    const asked = (path: string) =>
      outsideSigner({ url: `http://127.0.0.1:${address.port}${path}`, publicKey, token: TOKEN })
        .sign(Buffer.from('{"purpose":"holderbook-test-v1"}'))
        .catch((error: unknown) => String(error));
    expect(await asked("/elsewhere")).toMatch(/^SignerAwayError: .* answers 307/);
    expect(await asked("/long")).toMatch(/^SignerAwayError: .* gave an unexpected answer/);
    expect(await asked("/short")).toMatch(/^SignerAwayError: .* does not answer/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

/** Takes connections, and never answers. */
const startSilent = async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    asked: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
};

test("a hanging signer is abandoned, and callers waiting for the sequence meanwhile get an answer without asking it again", async () => {
  await using database = await openIn();
  await using signer = await startSigner();
  await act(database, await keyOf(database, signer), "one");
  await using silent = await startSilent();
  const { publicKey } = signer;
  const hanging = outsideSigner({ url: silent.url, publicKey, timeoutMs: 500 });
  const key = await openDeploymentKey(database, noMasterKey, hanging);
  const all = await Promise.allSettled([1, 2, 3].map((n) => act(database, key, `${n}`)));
  expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(all.map((one) => (one.status === "rejected" ? one.reason.name : ""))).toEqual(
    Array(3).fill("SignerAwayError"),
  );
  expect(silent.asked()).toBeLessThan(3);
  expect(hanging.trouble()?.reason).toContain("does not answer");
  // Nothing of it holds the sequence.
  await act(database, await keyOf(database, signer), "two");
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("a watch that starts while the signer is away chains the log, logs it once, and signs when the signer is back", async () => {
  await using database = await openIn();
  await using own = await startSigner();
  await own.stop();
  const log = await openLog(database, {
    chainId: "chain-a",
    packages: [PACKAGE],
    firstCheckpoint: 0n,
  });
  await log.append(batch(0n, 3n, [fact(0n), fact(2n)]), []);
  const ending = new AbortController();
  const troubles: string[] = [];
  const away = Promise.withResolvers<void>();
  const signed = Promise.withResolvers<string>();
  const watching = watchOver(
    {
      database,
      key: await keyOf(database, own),
      checks: [],
      pace: { chainEveryMs: 20, signEveryMs: 50, catchUpRests: 0 },
      onSigned: ({ checkpoint }) => signed.resolve(`${checkpoint}`),
      onTrouble: ({ name }) => {
        troubles.push(name);
        away.resolve();
      },
    },
    ending.signal,
  );
  await away.promise;
  expect(await database.sql`select from log_heads`).toHaveLength(0);
  const [chain] = await database.sql`select max(checkpoint)::text as through from log_chain`;
  expect(chain).toEqual({ through: "2" });
  await own.start();
  expect(await signed.promise).toBe("2");
  ending.abort();
  await watching;
  expect(new Set(troubles)).toEqual(new Set(["SignerAwayError"]));
  expect(await sequenceFaults(database.sql)).toEqual([]);
});

test("a configured signer that does not hold the newest key is refused by name, with a remedy", async () => {
  await using database = await openIn();
  await using signer = await startSigner();
  const sealed = await openDeploymentKey(database, randomBytes(32));
  const opening = keyOf(database, signer);
  await expect(opening).rejects.toThrow(DeploymentKeyError);
  await expect(opening).rejects.toThrow(`signs with ${sealed.keyId}`);
  await expect(opening).rejects.toThrow("keys rotate");
  await using outside = await openIn();
  await act(outside, await keyOf(outside, signer), "one");
  await expect(openDeploymentKey(outside, randomBytes(32))).rejects.toThrow(
    `DEPLOYMENT_SIGNER_KEY=${signer.publicKey}`,
  );
});
