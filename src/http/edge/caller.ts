/** Address and origin of a request, as the framework would find them: behind a proxy, from its header fields. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyAddress from "@fastify/proxy-addr";

/** Where a request was sent to, in the caller's words: `host` need not be a valid host. */
export type Origin = { readonly protocol: string; readonly host: string };

export type Caller = {
  /** Address of the caller. */
  address(raw: IncomingMessage): string;
  origin(raw: IncomingMessage): Origin;
};

/**
 * Removes from `X-Forwarded-For` what is no address, so that callers are not counted or logged under invented
 * names: the proxy's address is used instead. Some proxies add the port, which is cut off.
 */
export const keepAddresses = ({ headers }: IncomingMessage): void => {
  const field = headers["x-forwarded-for"];
  if (typeof field !== "string") return;
  const first = (field.split(",", 1)[0] ?? "").trim();
  const address = /^\[(.*)\](?::\d+)?$/.exec(first)?.[1] ?? first.replace(/^([\d.]+):\d+$/, "$1");
  if (isIP(address) === 0) delete headers["x-forwarded-for"];
  else headers["x-forwarded-for"] = address;
};

/** @param trustProxy believe `X-Forwarded-For`, `-Proto` and `-Host` */
export const callerKnown = (trustProxy: boolean): Caller => (trustProxy ? forwarded : connected);

const PROTOCOL = "http";

const connected: Caller = {
  address: ({ socket }) => socket.remoteAddress ?? "",
  origin: ({ headers }) => ({ protocol: PROTOCOL, host: headers.host ?? "" }),
};

const forwarded: Caller = {
  // The address that the first proxy saw.
  address: (raw) => proxyAddress(raw, () => true),
  origin: ({ headers }) => ({
    protocol: lastOf(headers["x-forwarded-proto"]) ?? PROTOCOL,
    host: lastOf(headers["x-forwarded-host"]) ?? headers.host ?? "",
  }),
};

/** The last of several values, which the nearest proxy added; undefined for a field that says nothing. */
const lastOf = (field: string | readonly string[] | undefined): string | undefined =>
  typeof field === "string" && field !== ""
    ? field.slice(field.lastIndexOf(",") + 1).trim()
    : undefined;
