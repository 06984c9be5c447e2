/** Who calls, and what for, as the framework would find it: behind a proxy it is the proxy that tells. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import proxyAddress from "@fastify/proxy-addr";

/** What a request was sent to, as the caller named it: `host` may be no host at all. */
export type Asked = { readonly protocol: string; readonly host: string };

export type Caller = {
  /** Address of the caller. */
  address(raw: IncomingMessage): string;
  asked(raw: IncomingMessage): Asked;
};

/**
 * Takes what a caller wrote out of `X-Forwarded-For` where it is no address, so that no caller is counted or
 * logged under an invented name: the proxy's address takes its place. Some proxies add the port.
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
  asked: ({ headers }) => ({ protocol: PROTOCOL, host: headers.host ?? "" }),
};

const forwarded: Caller = {
  // The address that the first proxy saw.
  address: (raw) => proxyAddress(raw, () => true),
  asked: ({ headers }) => ({
    protocol: lastOf(headers["x-forwarded-proto"]) ?? PROTOCOL,
    host: lastOf(headers["x-forwarded-host"]) ?? headers.host ?? "",
  }),
};

/** The last of several values, which the nearest proxy added; undefined for a field that says nothing. */
const lastOf = (field: string | readonly string[] | undefined): string | undefined =>
  typeof field === "string" && field !== ""
    ? field.slice(field.lastIndexOf(",") + 1).trim()
    : undefined;
