/**
 * Address and origin of a request, as Fastify finds them; behind a proxy, from its header fields.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyAddress from "@fastify/proxy-addr";

/** Where the caller sent the request; `host` need not be valid. */
export type Origin = { readonly protocol: string; readonly host: string };

export type Caller = {
  address(raw: IncomingMessage): string;
  origin(raw: IncomingMessage): Origin;
};

/**
 * Replaces anything but an address in `X-Forwarded-For` by the proxy's address, so that callers are
 * not counted or logged under invented names. A port is cut off.
 */
export const keepAddresses = ({ headers }: IncomingMessage): void => {
  const field = headers["x-forwarded-for"];
  if (typeof field !== "string") return;
  const first = (field.split(",", 1)[0] ?? "").trim();
  const address = /^\[(.*)\](?::\d+)?$/.exec(first)?.[1] ?? first.replace(/^([\d.]+):\d+$/, "$1");
  if (isIP(address) === 0) delete headers["x-forwarded-for"];
  else headers["x-forwarded-for"] = address;
};

/** @param trustProxy trust `X-Forwarded-For`, `-Proto` and `-Host` */
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

/** The last value, which the nearest proxy added; undefined for an empty field. */
const lastOf = (field: string | readonly string[] | undefined): string | undefined =>
  typeof field === "string" && field !== ""
    ? field.slice(field.lastIndexOf(",") + 1).trim()
    : undefined;
