/**
 * Whether a request comes from this machine's own user: from a browser that shows our own page, or from a
 * program, without anything in between. What is given out then, the demo's key, must reach nobody else.
 *
 * - Another machine: its address is not loopback.
 * - A proxy on this machine, in front of the service: it says so by a header field, or speaks HTTP/1.0.
 * - A page of another site whose name was made to lead here (DNS rebinding): it asks for its own name.
 * - A page of another origin: its browser says where it comes from, and is told nothing it may read.
 */
import type { IncomingMessage } from "node:http";

const LOOPBACK_ADDRESS = /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/;

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Fields by which proxies tell of themselves, or of whom they ask for. */
const FORWARDING =
  /^(?:forwarded|via|x-forwarded.*|x-original-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|fastly-client-ip|cf-.*|x-envoy-.*|x-proxy.*)$/;

/** Whether a request was sent from this machine, to this machine, by nobody else's page. */
export const isFromThisMachine = ({ socket, headers, httpVersion }: IncomingMessage): boolean => {
  const { host = "", origin } = headers;
  const site = headers["sec-fetch-site"];
  return (
    LOOPBACK_ADDRESS.test(socket.remoteAddress ?? "") &&
    LOOPBACK_HOST.test(host) &&
    // What most proxies speak to the services behind them unless they are told otherwise.
    httpVersion !== "1.0" &&
    !Object.keys(headers).some((name) => FORWARDING.test(name)) &&
    (site === undefined || site === "same-origin" || site === "none") &&
    (origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`)
  );
};
