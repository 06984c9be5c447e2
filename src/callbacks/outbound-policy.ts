/** Where callbacks may go, and what of an address tells that it leads elsewhere. */
import { isIP } from "node:net";
import { CallbackAddressError } from "./outbound-error.ts";
import { reachOf } from "./reach.ts";

/** Where callbacks may go. */
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
 * Checks what can be told without resolving the name.
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
  // One bad address among good ones is an attempt, not an accident.
  if (addresses.length === 0 || !addresses.every(allowed)) {
    throw new CallbackAddressError("the callback address leads to a network that is not public");
  }
};
