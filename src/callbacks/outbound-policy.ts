/** Which addresses callbacks may go to, and the errors of sending them. */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import type { Remedy } from "../waiting/remedy.ts";

export type OutboundPolicy = {
  /**
   * Development and tests: also http, any port, loopback and private networks. Link-local, multicast
   * and reserved addresses stay closed.
   */
  readonly allowPrivate: boolean;
  /** Ports that are open, 443 alone unless given; with `allowPrivate` every port is. */
  readonly ports?: readonly number[];
};

const LONGEST_URL = 2_048;

/**
 * Checks everything that does not need the name resolved.
 * @throws CallbackAddressError (stop) naming what is wrong
 */
export const checkCallbackUrl = (text: string, policy: OutboundPolicy): URL => {
  const refuse = (why: string): never => {
    throw new CallbackAddressError(`the callback address ${why}`);
  };
  if (text.length > LONGEST_URL) refuse(`is longer than ${LONGEST_URL} characters`);
  if (!URL.canParse(text)) refuse("is not a URL");
  const url = new URL(text);
  const schemes = policy.allowPrivate ? ["https:", "http:"] : ["https:"];
  if (!schemes.includes(url.protocol)) refuse(`must begin with ${schemes.join(" or ")}//`);
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const ports = policy.ports ?? [443];
  if (!policy.allowPrivate && !ports.includes(port)) {
    refuse(`uses port ${port}; open are ${ports.join(", ")}`);
  }
  // URL has already turned every spelling of an IPv4 address (0x7f.1, 2130706433) into dots.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) refuseInward([host], policy);
  return url;
};

/** @throws CallbackAddressError (stop) unless all of the addresses may be called */
export const refuseInward = (addresses: readonly string[], policy: OutboundPolicy): void => {
  const allowed = (address: string) => {
    const reach = reachOf(address);
    return reach === "public" || (reach === "private" && policy.allowPrivate);
  };
  // A single bad address among good ones is an attack.
  if (addresses.length === 0 || !addresses.every(allowed)) {
    throw new CallbackAddressError("the callback address leads to a network that is not public");
  }
};

/**
 * Calls to this callback address are not allowed: its scheme, port, credentials, or the network it resolves
 * to. Stop: give another address, or allow private ones for development. Never contains a resolved address,
 * which would reveal our network.
 */
export class CallbackAddressError extends Error {
  override readonly name = "CallbackAddressError";
  readonly remedy: Remedy = "stop";
}

/** The receiver did not connect or answer in time: retry later. */
export class ReceiverTimeoutError extends Error {
  override readonly name = "ReceiverTimeoutError";
  readonly remedy: Remedy = "retry";

  constructor(what: "connect" | "answer", ms: number) {
    super(`the receiver did not ${what} within ${ms / 1_000} s`);
  }
}

/** The connection failed or broke; the message contains no addresses. Retry later. */
export class ReceiverUnreachableError extends Error {
  override readonly name = "ReceiverUnreachableError";
  readonly remedy: Remedy = "retry";

  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the receiver refused the connection",
  ECONNRESET: "the receiver closed the connection without an answer",
  EPIPE: "the receiver closed the connection without an answer",
  ENOTFOUND: "the host name of the receiver was not found",
  EAI_AGAIN: "the host name of the receiver could not be looked up",
  EHOSTUNREACH: "the receiver cannot be reached",
  ENETUNREACH: "the receiver cannot be reached",
  HPE_HEADER_OVERFLOW: "the headers of the answer are too long",
};

/** By the error's code alone: its message may hold a resolved address. */
const reasonOf = (cause: unknown): string => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  const known = REASONS[code];
  if (known !== undefined) return known;
  return code.startsWith("HPE_")
    ? `the answer is not HTTP (${code})`
    : `the connection failed (${code.slice(0, 60)})`;
};

/**
 * By the special-purpose registries of IANA (RFC 6890 and updates). `private`: loopback and private
 * networks, for deployments that allow them. `never`: link-local (where clouds keep their metadata),
 * multicast, documentation, reserved, and tunnels that would hide another address.
 */
type Reach = "public" | "private" | "never";

const blockList = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), isIPv4(network) ? "ipv4" : "ipv6");
  }
  return list;
};

const PRIVATE_V4 = blockList([
  "10.0.0.0/8",
  "100.64.0.0/10", // shared by the customers of a carrier's NAT
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
]);

const NEVER_V4 = blockList([
  "0.0.0.0/8", // "this host": connects to loopback on most systems
  "100.100.100.200/32", // metadata of Alibaba Cloud, inside the shared range
  "168.63.129.16/32", // metadata of Azure, on a public address
  "169.254.0.0/16", // link-local; metadata of most clouds
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4", // reserved, and broadcast
]);

const PRIVATE_V6 = blockList(["::1/128", "fc00::/7"]);

const GLOBAL_V6 = blockList(["2000::/3"]);

const NEVER_V6 = blockList([
  "fd00:ec2::254/128", // metadata of AWS, inside the unique local range
  "fd20:ce::254/128", // metadata of Google Cloud, likewise
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID
  "2001:db8::/32",
  "2002::/16", // 6to4: any IPv4 address hides in it
  "3fff::/20",
]);

/** Prefixes whose last 32 bits are the real IPv4 destination. */
const EMBEDDED_V4 = [
  { prefix: 0xffffn, bits: 96n }, // ::ffff:0:0/96, IPv4-mapped
  { prefix: 0x64ff9bn << 64n, bits: 96n }, // 64:ff9b::/96, NAT64 (RFC 6052)
];

/** `never` for a text that is not an address. */
export const reachOf = (address: string): Reach => {
  if (isIPv4(address)) return reachOfV4(address);
  // A zone ("fe80::1%eth0") belongs to link-local addresses alone.
  if (!isIPv6(address) || address.includes("%")) return "never";
  const value = parseIPv6(address);
  if (EMBEDDED_V4.some(({ prefix, bits }) => value >> (128n - bits) === prefix)) {
    return reachOfV4(dotted(value & 0xffff_ffffn));
  }
  if (NEVER_V6.check(address, "ipv6")) return "never";
  if (PRIVATE_V6.check(address, "ipv6")) return "private";
  return GLOBAL_V6.check(address, "ipv6") ? "public" : "never";
};

const reachOfV4 = (address: string): Reach => {
  if (NEVER_V4.check(address, "ipv4")) return "never";
  return PRIVATE_V4.check(address, "ipv4") ? "private" : "public";
};

/** The 128 bits of a valid IPv6 address. */
const parseIPv6 = (address: string): bigint => {
  // "::ffff:1.2.3.4" to "::ffff:102:304"
  const hex = address.replace(/\d+\.\d+\.\d+\.\d+$/, (v4) => {
    const [a = 0, b = 0, c = 0, d = 0] = v4.split(".").map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = "", tail] = hex.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const before = groups(head);
  const after = groups(tail ?? "");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const all = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
};

const dotted = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
