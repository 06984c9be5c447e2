/**
 * Where an IP address leads: out to the internet, into a private network, or nowhere that a
 * callback may ever go.
 *
 * The lists are the special-purpose registries of IANA (RFC 6890 and its updates). IPv6 is the other
 * way round: only global unicast (2000::/3) can be public, less what is carved out of it.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/**
 * `public`: routed on the internet. `private`: loopback and private networks, for deployments that
 * allow them. `never`: link-local (where clouds keep their metadata), multicast, documentation,
 * reserved, and tunnels that would hide another address.
 */
export type Reach = "public" | "private" | "never";

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

/** Prefixes behind which the last 32 bits are an IPv4 address that is really meant. */
const EMBEDDED_V4 = [
  { prefix: 0xffffn, bits: 96n }, // ::ffff:0:0/96, IPv4-mapped
  { prefix: 0x64ff9bn << 64n, bits: 96n }, // 64:ff9b::/96, NAT64 (RFC 6052)
];

/** Where an address leads; text that is no address leads nowhere. */
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
