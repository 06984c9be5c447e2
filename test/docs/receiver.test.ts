/** The tutorial's receiver, on a bad day: what it answers with 2xx never comes again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rmdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { generateKeyPair, secretKeyOf } from "../../client/ed25519.ts";
import { signatureHeaders } from "../../src/callbacks/deliver.ts";
import { freePort } from "../lanes/redis-server.ts";
import { eventually, temporaryFolder } from "../service/process.ts";
import { savedFile } from "./tutorial.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

test("the receiver of the tutorial answers 2xx once it has stored a callback, and stores it once", async () => {
  await using folder = await temporaryFolder();
  for (const entry of ["package.json", "client"]) {
    await symlink(join(ROOT, entry), join(folder.path, entry));
  }
  const port = await freePort();
  const program = join(folder.path, "try", "receiver.mjs");
  const stored = join(folder.path, "try", "received.txt");
  // Nothing can be appended to a folder.
  await mkdir(stored, { recursive: true });
  const text = await savedFile("receive-a-callback", "try/receiver.mjs");
  await writeFile(program, text.replace("8080", `${port}`));

  const keys = generateKeyPair();
  const service = createServer((_request, response) => {
    response.end(JSON.stringify({ keys: [{ keyId: "cbk_1", publicKey: keys.publicKey }] }));
  });
  await once(service.listen(0, "127.0.0.1"), "listening");
  const address = service.address();
  if (address === null || typeof address === "string") throw new Error("the service has no port");

  const started = () =>
    spawn(process.execPath, [program], {
      cwd: folder.path,
      env: { URL: `http://127.0.0.1:${address.port}` },
      stdio: "ignore",
    });
  const message = { id: "msg_1", body: '{"status":"SUCCESS"}' };
  const post = () =>
    eventually("the receiver answers", async () => {
      const headers = signatureHeaders([secretKeyOf(keys.secretKey)], message, new Date());
      const request = { method: "POST", headers, body: message.body };
      const answer = await fetch(`http://127.0.0.1:${port}/hook`, request).catch(() => null);
      return answer === null ? { seen: "no answer" } : { done: answer.status };
    });
  const ended = async (receiver: ChildProcess) => {
    receiver.kill();
    await once(receiver, "exit");
  };

  let receiver = started();
  try {
    expect(await post()).toBe(500);
    await rmdir(stored);
    expect([await post(), await post()]).toEqual([204, 204]);
    await ended(receiver);
    receiver = started();
    expect(await post()).toBe(204);
    expect(await readFile(stored, "utf8")).toBe(`${message.id} ${message.body}\n`);
  } finally {
    await ended(receiver);
    service.close();
  }
});
