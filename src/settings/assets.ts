/**
 * Projects and tokens of this deployment, with what ledgers do not have: names, callback addresses,
 * whitelist groups, EVM chains. The Sui pipelines index every coin type of the configured packages,
 * listed or not. A complete file: `config/assets.example.json`.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { canonicalType } from "../values/move-type.ts";
import { ConfigError } from "./config-error.ts";
import { pathOf, readJsonFile } from "./json-file.ts";

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, "must be 1 to 63 lower-case letters, digits and hyphens");

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http or https URL" });

/** Callbacks of the transfer agent for this token; absent: it takes no requests. */
const transferAgent = z.strictObject({ callbackUrl: httpUrl });

/** The issuer in exports of the register. */
const issuer = z.strictObject({
  legalName: z.string().min(1),
  formationDate: z.iso.date("must be a date, such as 2019-04-01"),
  countryOfFormation: z
    .string()
    .regex(/^[A-Z]{2}$/, "must be a country code of two capital letters"),
});

const suiToken = z.strictObject({
  name,
  ledger: z.literal("sui"),
  coinType: z
    .string()
    .regex(
      /^0x[0-9a-fA-F]{1,64}::\w+::\w+(<.+>)?$/,
      "must be a coin type, such as 0x2a…::acme::ACME",
    ),
  /** Until the coin's own metadata is seen. */
  decimals: z.int().min(0).max(255).optional(),
  whitelistGroupId: z.int().min(0).optional(),
  ta: transferAgent.optional(),
  issuer: issuer.optional(),
});

const named = z.record(z.string().regex(/^\d+$/, "must be a number in quotes"), z.string().min(1));

/** Any case in the file, lower case from here on, so that addresses compare as strings. */
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits")
  .transform((address) => `0x${address.slice(2).toLowerCase()}` as const);

/** Token types, as in `_token_type` of the REST interface. */
const evmTokenTypes = [
  "comakery_security_token_v1",
  "comakery_security_token_v2",
  "comakery_security_token_v3",
  "comakery_security_token_v4",
  "comakery_security_token_v5",
] as const;

const evmToken = z.strictObject({
  name,
  ledger: z.literal("evm"),
  /** Slug of the network in records, such as `avalanche_fuji`. */
  network: z.string().regex(/^[a-z0-9_]+$/, "must be a slug, such as avalanche_fuji"),
  chainId: z.int().min(1),
  /** In order of preference. */
  rpc: z.array(httpUrl).min(1),
  address: evmAddress,
  type: z.enum(evmTokenTypes),
  /** At or before the block that created the token, or its older identity registry. */
  fromBlock: z.int().min(0).default(0),
  /** When a block counts as final: a tag of the chain, or a depth in blocks. */
  finality: z
    .union([z.enum(["latest", "safe", "finalized"]), z.int().min(0)], {
      error: "must be latest, safe, finalized or a whole number of blocks from 0 on",
    })
    .default("finalized"),
  /** The separate lock-up contract of version 1. */
  lockup: evmAddress.nullable().default(null),
  /** Identity registry of version 5; its regions are regulatory groups. */
  identityRegistry: evmAddress.nullable().default(null),
  groups: named.default({}),
  schedules: named.default({}),
  /** From 1: wallets without a group are in group 0. */
  whitelistGroupId: z.int().min(1).optional(),
  ta: transferAgent.optional(),
});

const isRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const assetsFile = z
  .strictObject({
    projects: z.array(
      z.strictObject({
        name,
        /** Receiver of transfer events; absent: they are only listed. */
        callbackUrl: httpUrl.optional(),
        tokens: z.array(
          z.discriminatedUnion("ledger", [suiToken, evmToken], {
            error: ({ input }) =>
              isRecord(input) ? 'must be "sui" or "evm"' : "must be an object with a ledger",
          }),
        ),
      }),
    ),
  })
  .superRefine(({ projects }, context) => {
    const seen = new Map<string, string>();
    projects.forEach((project, p) => {
      const entries = [
        { what: `project ${project.name}`, path: ["projects", p, "name"] },
        ...project.tokens.map((token, t) => ({
          what: `token ${token.name}`,
          path: ["projects", p, "tokens", t, "name"],
        })),
        // A record cannot show the settings of both.
        ...project.tokens.flatMap((token, t) =>
          token.ledger === "evm"
            ? [
                {
                  // Malformed addresses are compared as written.
                  what: `${token.address.toLowerCase()} on chain ${token.chainId} of project ${project.name}`,
                  path: ["projects", p, "tokens", t, "address"],
                },
              ]
            : [],
        ),
      ];
      for (const { what, path } of entries) {
        const before = seen.get(what);
        if (before === undefined) seen.set(what, pathOf(path));
        else context.addIssue({ code: "custom", path, message: `${what} is already at ${before}` });
      }
    });
  });

export type Assets = Readonly<z.infer<typeof assetsFile>>;
export type Project = Assets["projects"][number];
export type Token = Project["tokens"][number];
export type SuiToken = Extract<Token, { ledger: "sui" }>;

export type EvmToken = Extract<Token, { ledger: "evm" }>;

/**
 * The assets file is unusable; the message has a line for each fault and its path. Stop: correct
 * it.
 */
export class AssetsFileError extends ConfigError {
  override readonly name = "AssetsFileError";
}

/**
 * Reads and validates `ASSETS_FILE`.
 * @throws AssetsFileError when missing, not JSON, or invalid
 */
export const readAssets = async (path: string): Promise<Assets> => {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    const why = UNREADABLE[error.code ?? ""] ?? error.message;
    throw new AssetsFileError(`ASSETS_FILE: ${path} ${why}`);
  });
  const { content, faults } = readJsonFile(text, assetsFile);
  if (content !== undefined) return content;
  throw new AssetsFileError(faults.map((fault) => `${path} ${fault}`).join("\n"));
};

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EISDIR: "is a folder",
  EACCES: "may not be read by this user",
};

/** Sui tokens of all projects. */
export const suiTokens = (assets: Assets): readonly SuiToken[] =>
  assets.projects.flatMap(({ tokens }) => tokens.filter((token) => token.ledger === "sui"));

/** Undefined where the file has none. */
export const issuerOf = (assets: Assets, coinType: string): SuiToken["issuer"] =>
  suiTokens(assets).find((token) => token.issuer && canonicalType(token.coinType) === coinType)
    ?.issuer;
