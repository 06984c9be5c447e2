import { createConnection, createServer, type Socket } from "node:net";

/** A way to a Postgres that can be cut and mended: what a network, or a restarting server, does. */
export const breakableWay = async (url: string) => {
  const target = new URL(url);
  const open = new Set<Socket>();
  /** Those that lead to the server. */
  const onward = new Set<Socket>();
  /** Sockets of which nothing is passed on any more. */
  const mute = new WeakSet<Socket>();
  let cut = false;
  let silent = false;
  /** How long what arrives is kept before it is passed on, ms. */
  let lagMs = 0;
  /** The next answer that has it is not passed on, and its connection ends. */
  let lost: { readonly pattern: RegExp; readonly onLost: () => void } | undefined;
  /** Nothing that the server says is passed on. */
  let deaf = false;
  /** Bytes of the server that are still passed on; without a number all are. */
  let left: number | undefined;
  const greetings: string[] = [];
  const server = createServer((from) => {
    if (cut) {
      from.destroy();
      return;
    }
    from.once("data", (bytes) => greetings.push(bytes.toString("latin1").replaceAll("\0", " ")));
    if (silent) {
      open.add(from);
      from.on("error", () => undefined);
      from.on("close", () => open.delete(from));
      return;
    }
    const to = createConnection({ host: target.hostname, port: Number(target.port) });
    onward.add(to);
    to.on("close", () => onward.delete(to));
    for (const [near, far] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(near);
      near.on("data", (bytes) => {
        if (near === to && left !== undefined) {
          left -= bytes.length;
          if (left < 0) {
            left = undefined;
            mute.add(near).add(far);
          }
        }
        if (near === to && lost?.pattern.test(bytes.toString("latin1"))) {
          const { onLost } = lost;
          lost = undefined;
          from.destroy();
          return onLost();
        }
        if (mute.has(near) || (deaf && near === to)) return;
        if (lagMs === 0) {
          far.write(bytes);
          return;
        }
        // Paused meanwhile, so that all arrives in order.
        near.pause();
        setTimeout(() => {
          far.write(bytes);
          near.resume();
        }, lagMs);
      });
      near.on("end", () => {
        if (!mute.has(near)) far.end();
      });
      near.on("error", () => far.destroy());
      near.on("close", () => {
        open.delete(near);
        far.destroy();
      });
    }
  });
  const listen = (port: number) =>
    new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening));
  await listen(0);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const way = new URL(url);
  way.hostname = "127.0.0.1";
  way.port = String(port);
  const breakOff = () => {
    cut = true;
    for (const socket of open) socket.destroy();
  };
  const leave = async () => {
    breakOff();
    await new Promise((closed) => server.close(closed));
  };
  return {
    url: way.href,
    /** Ends every connection, and every new one as soon as it is made, as a proxy does. */
    break: breakOff,
    mend: () => {
      cut = false;
    },
    /** Takes everything and passes nothing on, closing nothing, as a black hole does; new connections too. */
    fallSilent: () => {
      silent = true;
      for (const socket of open) mute.add(socket);
    },
    /** The same for a connection in the midst of an answer, once the server has sent so many bytes. */
    fallSilentAfter: (bytes: number) => {
      left = bytes;
    },
    /** New connections work again. Those that fell silent stay so, and those whose answers were lost end. */
    speakAgain: () => {
      if (deaf) for (const socket of open) socket.destroy();
      deaf = false;
      silent = false;
      left = undefined;
    },
    /** From which the server is asked now, as it sees them. */
    ports: (): readonly number[] => [...onward].flatMap(({ localPort }) => localPort ?? []),
    /** Everything takes so much longer, in both directions; 0 ends it. */
    delay: (ms: number) => {
      lagMs = ms;
    },
    /**
     * The server gets everything, and its next answer that has the pattern (in Latin-1) is lost together with the
     * connection; resolves then. Only the last such call counts.
     */
    loseAnswer: (pattern: RegExp) =>
      new Promise<void>((onLost) => {
        lost = { pattern, onLost };
      }),
    /** The server gets everything, and all that it says is lost, until `speakAgain` ends those connections. */
    loseAnswers: () => {
      deaf = true;
    },
    /** The first message of every connection so far, in which a client says its settings. */
    greetings: greetings as readonly string[],
    /** Ends every connection and listens no more, as a server that was stopped. */
    leave,
    comeBack: async () => {
      cut = false;
      await listen(port);
    },
    [Symbol.asyncDispose]: leave,
  };
};
