import { createConnection, createServer, type Socket } from "node:net";

/** A way to a Postgres that can be cut and mended: what a network, or a restarting server, does. */
export const breakableWay = async (url: string) => {
  const target = new URL(url);
  const open = new Set<Socket>();
  let cut = false;
  const server = createServer((from) => {
    if (cut) {
      from.destroy();
      return;
    }
    const to = createConnection({ host: target.hostname, port: Number(target.port) });
    for (const [near, far] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(near);
      near.pipe(far);
      near.on("error", () => far.destroy());
      near.on("close", () => {
        open.delete(near);
        far.destroy();
      });
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const way = new URL(url);
  way.hostname = "127.0.0.1";
  way.port = String(typeof address === "object" ? address?.port : 0);
  const breakOff = () => {
    cut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: way.href,
    /** Ends every connection and refuses new ones. */
    break: breakOff,
    mend: () => {
      cut = false;
    },
    [Symbol.asyncDispose]: async () => {
      breakOff();
      await new Promise((closed) => server.close(closed));
    },
  };
};
