/** Sockets to Postgres: host, TLS, keep-alive. */
import { createConnection, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import postgres from "postgres";

/** A host that takes longer counts as not answering. */
export const CONNECT_TIMEOUT_SECONDS = 10;

/** Idle time before the kernel probes the other side. */
export const KEEP_ALIVE_SECONDS = 10;

/** Address, as parsed by the driver, but for literal IPv6 addresses. */
export type Target = {
  readonly host: string;
  readonly port: number;
  /** Path of a Unix socket. */
  readonly path: string | false | null | undefined;
  /** `sslmode`, or false. */
  readonly ssl: unknown;
  /** `direct`: TLS without an SSLRequest. */
  readonly sslnegotiation: unknown;
};

/** The address in a URL of one host. */
export const targetOf = (url: string): Target => {
  // Only parses; never connects.
  const { options } = postgres(url, { max: 1 });
  const { host, port, path, ssl, sslnegotiation } = { sslnegotiation: null, ...options };
  const rest = { path, ssl, sslnegotiation };
  const literal = URL.parse(url);
  // The driver splits `[::1]:5432` at its first colon.
  if (literal?.hostname.startsWith("[")) {
    return { host: literal.hostname.slice(1, -1), port: Number(literal.port || 5432), ...rest };
  }
  return { host: host[0] ?? "localhost", port: port[0] ?? 5432, ...rest };
};

/**
 * Connects.
 * @param signal destroys the socket, also later
 * @throws with a code such as ECONNREFUSED
 */
export const openSocket = async (target: Target, signal?: AbortSignal): Promise<Socket> => {
  const { host, port, path, ssl } = target;
  const socket = createConnection({
    ...(path ? { path } : { host, port }),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_SECONDS * 1_000,
    ...(signal && { signal }),
  });
  await inTime(socket, "connect");
  return ssl && !path ? await secured(socket, target) : socket;
};

/** `SSLRequest` (Postgres documentation, "Message Formats"): length and code. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Answer of a server that supports TLS. */
const WILLING = "S".charCodeAt(0);

/** Starts TLS as `sslmode` says: `require`, `allow` and `prefer` check no certificate. */
const secured = async (plain: Socket, { host, ssl, sslnegotiation }: Target): Promise<Socket> => {
  const isDirect = sslnegotiation === "direct";
  if (!isDirect) {
    const answer = inTime(plain, "readable");
    plain.write(SSL_REQUEST);
    await answer;
    const [letter]: Uint8Array = plain.read(1) ?? [];
    if (letter !== WILLING) {
      if (ssl === "prefer") return plain;
      plain.destroy();
      throw Object.assign(new Error(`the server at ${host} does not speak TLS (sslmode)`), {
        code: "ECONNREFUSED",
      });
    }
  }
  const isUnchecked = ssl === "require" || ssl === "allow" || ssl === "prefer";
  const options: ConnectionOptions = {
    socket: plain,
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: ["postgresql"] }),
    ...(isUnchecked && { rejectUnauthorized: false }),
  };
  const secure = connectTls(options);
  await inTime(secure, "secureConnect");
  return secure;
};

/** Waits for an event; destroys the socket on failure or timeout. */
const inTime = (socket: Socket, event: "connect" | "secureConnect" | "readable"): Promise<void> =>
  new Promise((came, failed) => {
    const fail = (error: Error) => {
      settle();
      socket.destroy();
      failed(error);
    };
    const closed = () =>
      fail(Object.assign(new Error("the server closed the connection"), { code: "ECONNRESET" }));
    const come = () => {
      settle();
      came();
    };
    const late = () => {
      const message = `no answer within ${CONNECT_TIMEOUT_SECONDS} s`;
      fail(Object.assign(new Error(message), { code: "ETIMEDOUT" }));
    };
    const deadline = setTimeout(late, CONNECT_TIMEOUT_SECONDS * 1_000);
    const settle = () => {
      clearTimeout(deadline);
      socket.off(event, come).off("error", fail).off("close", closed);
    };
    socket.once(event, come).once("error", fail).once("close", closed);
  });
