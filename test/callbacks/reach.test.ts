import fc from "fast-check";
import { expect, test } from "vitest";
import { reachOf } from "../../src/callbacks/outbound-policy.ts";

test("public addresses are public", () => {
  for (const address of [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "128.0.0.1",
    "172.15.255.255",
    "172.32.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ]) {
    expect([address, reachOf(address)]).toEqual([address, "public"]);
  }
});

test("loopback and private networks are private, in every spelling", () => {
  for (const address of [
    "127.0.0.1",
    "127.255.255.255",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "0:0:0:0:0:0:0:1",
    "fc00::1",
    "fdff:ffff::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::FFFF:10.0.0.1",
    "64:ff9b::192.168.0.1",
    "64:ff9b::a00:1",
  ]) {
    expect([address, reachOf(address)]).toEqual([address, "private"]);
  }
});

test("metadata services, link-local, multicast, reserved and tunnelled addresses are never called", () => {
  for (const address of [
    "0.0.0.0",
    "169.254.169.254",
    "169.254.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::127.0.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "3fff::1",
    "64:ff9b:1::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "localhost",
    "",
    "127.1",
    "1.2.3.4.5",
  ]) {
    expect([address, reachOf(address)]).toEqual([address, "never"]);
  }
});

test("an IPv4 address is recognised however IPv6 wraps it", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const groups = address.split(".").map(Number);
      const [a = 0, b = 0, c = 0, d = 0] = groups;
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      const reach = reachOf(address);
      expect(reachOf(`::ffff:${address}`)).toBe(reach);
      expect(reachOf(`::ffff:${hex}`)).toBe(reach);
      expect(reachOf(`0:0:0:0:0:ffff:${hex}`)).toBe(reach);
      expect(reachOf(`64:ff9b::${hex}`)).toBe(reach);
    }),
  );
});

test("no IPv6 address outside 2000::/3 is public, unless it wraps an IPv4 address that is", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      if (/^(::ffff:|64:ff9b::|0+:|0:)/i.test(address) || address.startsWith("::")) return;
      const first = Number.parseInt(address.split(":")[0] ?? "", 16);
      if (reachOf(address) === "public") expect(first >> 13).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});
