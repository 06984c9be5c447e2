import { spawn } from "node:child_process";
import { access, constants, mkdtemp, rm } from "node:fs/promises";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const READY_DEADLINE_MS = 30_000;

/** A Redis of its own on a free loopback port, gone with everything in it at the end of the scope. */
export type RedisServer = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** Kills the server; a second start gets another port unless it is given this one. */
  stop(): Promise<void>;
};

/** Path of the `redis-server` on this machine; undefined where there is none. */
export const redisServerPath = async (): Promise<string | undefined> => {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "redis-server");
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
};

/** Starts `redis-server` (see `redisServerPath`) and waits until it answers. */
export const startRedis = async (path: string, given?: number): Promise<RedisServer> => {
  const port = given ?? (await freePort());
  const dir = await mkdtemp(join(tmpdir(), "holderbook-redis-"));
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", dir];
  // BullMQ needs that no key of a queue is ever evicted.
  const server = spawn(path, [...args, "--maxmemory-policy", "noeviction"], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()));
  const deadline = Date.now() + READY_DEADLINE_MS;
  while (!(await answers(port))) {
    if (Date.now() > deadline || server.exitCode !== null) {
      server.kill("SIGKILL");
      throw new Error(`redis-server on port ${port} did not answer (exit code ${server.exitCode})`);
    }
    await delay(20);
  }
  const stop = async () => {
    server.kill("SIGKILL");
    await ended;
    await rm(dir, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, port, stop, [Symbol.asyncDispose]: stop };
};

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("error", () => resolve(false));
    socket.once("data", (answer) => {
      socket.destroy();
      resolve(answer.toString().startsWith("+PONG"));
    });
    socket.once("connect", () => socket.write("PING\r\n"));
  });

/** A port that was free a moment ago. */
export const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === "object" && address !== null) resolve(address.port);
        else reject(new Error("no free port"));
      });
    });
  });
