/** Schemas of settings. In a message, `{example}` is the setting's default or example. */
import { z } from "zod";
import { strictBase64 } from "../../client/ed25519.ts";
import { parsePostgresUrl } from "../values/postgres-hosts.ts";
import { type LedgerHeader, splitSources } from "./ledger-sources.ts";

export const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number, such as {example}")
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}, such as {example}`);

/** Whole MiB, as bytes. */
export const bytesOfMib = (least: number, most: number) =>
  wholeNumber(least, most).transform((mib) => mib * 1024 * 1024);

export const checkpointNumber = z
  .string()
  .regex(/^\d{1,18}$/, "must be a checkpoint number, such as 0 or 184220931")
  .transform(BigInt);

export const flag = z
  .enum(["true", "false"], "must be true or false")
  .transform((text) => text === "true");

export const oneOf = <const T extends string>(values: readonly [T, ...T[]]) =>
  z.enum(values, `must be one of ${values.join(", ")}`);

/** A hex address with this many digits, in lower case once read. */
export const hexAddress = (digits: 40 | 64) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-fA-F]{${digits}}$`), `must be 0x and ${digits} hex digits`)
    .transform((address) => address.toLowerCase());

export const urlOf = (schemes: readonly string[]) =>
  z.string().refine((text) => {
    const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : undefined;
    return scheme !== undefined && schemes.includes(scheme);
  }, "must be a URL such as {example}");

/** A URL of Postgres; several hosts are separated by commas. */
export const postgres = z.string().superRefine((text, context) => {
  const parsed = parsePostgresUrl(text);
  if ("fault" in parsed) context.addIssue(parsed.fault);
});

const isOneHost = (url: string): boolean => {
  const parsed = parsePostgresUrl(url);
  return !("fault" in parsed) && !parsed.asksForPrimary;
};

/** URLs of one host each. */
export const postgresList = z.string().transform((text, context) => {
  const urls = text
    .split(/[\s,]+(?=postgres(?:ql)?:\/\/)|\s+/)
    .map((part) => part.trim().replace(/,$/, ""))
    .filter((part) => part !== "");
  const fault = !urls.every(isOneHost)
    ? "must be URLs of one host each, such as {example}, separated by spaces or commas"
    : new Set(urls).size < urls.length
      ? "lists a replica twice"
      : undefined;
  if (fault === undefined) return urls;
  context.addIssue(fault);
  return z.NEVER;
});

export const fullNode = z
  .string()
  .regex(/^grpc\+https?:\/\/[^/]+$/, "must be a full node, such as {example}");

/** Keys go into headers. */
export const keylessNode = fullNode.refine(
  (text) => !/[@?#]/.test(text),
  "must end after the host and port, without a user or key; use LEDGER_HEADERS",
);

export const ed25519Key = z
  .string()
  .refine(
    (text) => strictBase64(text)?.length === 32,
    "must be an Ed25519 public key, base64 of 32 bytes",
  );

export const packages = z.string().transform((text, context) => {
  const addresses = text.split(",").map((part) => part.trim().toLowerCase());
  const wrong = addresses.find((address) => !/^0x[0-9a-f]{1,64}$/.test(address));
  if (wrong !== undefined) {
    context.addIssue(
      `"${wrong}" is not a package address; list them separated by commas, original first, such as 0x2a…,0x3b…`,
    );
    return z.NEVER;
  }
  const padded = addresses.map((address) => `0x${address.slice(2).padStart(64, "0")}`);
  return [...new Set(padded)];
});

/** SHA-256, hex. */
export const hashes = z.string().transform((text, context) => {
  const parts = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((part) => part !== "");
  const wrong = parts.find((part) => !/^[0-9a-f]{64}$/.test(part));
  if (wrong === undefined) return [...new Set(parts)];
  context.addIssue(`"${wrong}" is not a SHA-256 hash: 64 hex digits`);
  return z.NEVER;
});

/** A folder's name may have spaces, a URL may not. */
const SOURCE = /^(demo:.*|dir:.+|archive:.+|https?:\/\/\S+|grpc\+https?:\/\/\S+)$/;

export const ledgerSources = z.string().transform((text, context) => {
  const sources = splitSources(text);
  const fault = !sources.every((one) => SOURCE.test(one))
    ? "must be demo:, dir:/path, archive:/path, https://object-store or grpc+https://full-node, such as grpc+https://fullnode.mainnet.sui.io:443; several of one chain are separated by spaces"
    : sources.length > 1 && sources.some((one) => one.startsWith("demo:"))
      ? "lists the demo ledger beside others, which are of another chain; name it alone"
      : new Set(sources).size < sources.length
        ? "lists a source twice"
        : undefined;
  if (fault === undefined) return sources;
  context.addIssue(fault);
  return z.NEVER;
});

const HEADER =
  /^\s*(?:([A-Za-z0-9.-]+(?::\d+)?|\[[0-9a-f:]+\](?::\d+)?)\s+)?([A-Za-z0-9-]+)\s*:\s*(.+?)\s*$/;

export const headers = z.string().transform((text, context): readonly LedgerHeader[] => {
  const pairs = text.split(";").map((part) => HEADER.exec(part));
  if (pairs.some((pair) => pair === null)) {
    context.addIssue(
      'must be "name: value", several separated by ";"; with several sources, put the host in front: "host name: value"',
    );
    return z.NEVER;
  }
  return pairs.map((pair) => ({
    host: pair?.[1]?.toLowerCase(),
    name: pair?.[2]?.toLowerCase() ?? "",
    value: pair?.[3] ?? "",
  }));
});

/** A URL of an explorer's page with one placeholder, or `none`. */
export const explorerPage = (placeholder: string) =>
  z
    .string()
    .refine(
      (text) => text === NO_PAGE || isPage(text, `{${placeholder}}`),
      `must be ${NO_PAGE}, or the address of a page with {${placeholder}} in it once, such as https://explorer.example/{${placeholder}}`,
    );

const NO_PAGE = "none";

/** https, or http on this machine; no user; the placeholder follows the host. */
const isPage = (text: string, placeholder: string): boolean => {
  const url = URL.parse(text.replace(placeholder, "0"));
  return (
    url !== null &&
    text.split(placeholder).length === 2 &&
    !text.replace(placeholder, "").match(/[{}\s]/) &&
    (url.protocol === "https:" || (url.protocol === "http:" && url.hostname === "localhost")) &&
    url.username === "" &&
    url.password === "" &&
    text.indexOf(placeholder) > url.origin.length
  );
};

export const retrySeconds = z.string().transform((text, context) => {
  const delays = text.split(",").map((part) => part.trim());
  if (delays.length <= 50 && delays.every((delay) => /^\d{1,7}(\.\d{1,3})?$/.test(delay))) {
    return delays.map(Number);
  }
  context.addIssue("must be up to 50 numbers of seconds separated by commas, such as 5,30,120,600");
  return z.NEVER;
});

export const ports = z.string().transform((text, context) => {
  const numbers = text.split(",").map((part) => part.trim());
  if (numbers.every((n) => /^\d{1,5}$/.test(n) && Number(n) >= 1 && Number(n) <= 65_535)) {
    return [...new Set(numbers.map(Number))];
  }
  context.addIssue("must be ports from 1 to 65535 separated by commas, such as 443,8443");
  return z.NEVER;
});

const MAX_ORIGINS = 100;

/** Origins as in the header `Origin`, separated by commas or spaces. */
export const origins = z.string().transform((text, context) => {
  const listed = [...new Set(text.split(/[\s,]+/).filter((one) => one !== ""))];
  const wrong = listed.find((one) => !isOrigin(one));
  if (wrong === undefined && listed.length <= MAX_ORIGINS) return listed;
  context.addIssue(
    wrong === undefined
      ? `must be at most ${MAX_ORIGINS} origins`
      : `"${wrong}" is not an origin: write the scheme, the host in lower case and a non-default port, without a path, such as https://cap.example or http://localhost:5173; list each, * is not accepted`,
  );
  return z.NEVER;
});

const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  const isExact = url?.origin === text && !text.includes("*");
  return isExact && /^https?:$/.test(url.protocol);
};

/**
 * Checks of a source's data. `off`: none. `links`: the digests inside each decoded checkpoint, and
 * its link to the previous one. `signatures`: every byte, up to the validators' signatures.
 */
export const VERIFY_LEVELS = ["off", "links", "signatures"] as const;
export type VerifyLevel = (typeof VERIFY_LEVELS)[number];

/** `full`: every checkpoint. `guided`: those that a full node's lists name, and what chains lack. */
export const READING_MODES = ["full", "guided"] as const;

export const LOG_FORMATS = ["pretty", "json"] as const;

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
