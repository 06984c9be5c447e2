/**
 * The projects and tokens of this deployment: what the ledgers do not say (names, callback
 * addresses, the whitelist group expected of an investor, the chains of EVM tokens).
 *
 * The ledger pipelines index every coin type of the configured packages, listed here or not.
 * `config/assets.example.json` shows a complete file.
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

/** Where the transfer agent answers for this token; absent: it takes no requests for it. */
const transferAgent = z.strictObject({ callbackUrl: httpUrl });

/** The issuer, as exports of the register name it. */
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
  /** Used only while the coin's own metadata has not been seen. */
  decimals: z.int().min(0).max(255).optional(),
  whitelistGroupId: z.int().min(0).optional(),
  ta: transferAgent.optional(),
  issuer: issuer.optional(),
});

const named = z.record(z.string().regex(/^\d+$/, "must be a number in quotes"), z.string().min(1));

/** In any case in the file; in lower case from here on, so that addresses compare as strings. */
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits")
  .transform((address) => `0x${address.slice(2).toLowerCase()}` as const);

/** Token types, as the file and `_token_type` of the REST interface spell them. */
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
  /** Slug of the network as records show it, such as `avalanche_fuji`. */
  network: z.string().regex(/^[a-z0-9_]+$/, "must be a slug, such as avalanche_fuji"),
  chainId: z.int().min(1),
  /** Tried in order; the next one when one fails. */
  rpc: z.array(httpUrl).min(1),
  address: evmAddress,
  type: z.enum(evmTokenTypes),
  /** Block that created the token, or its identity registry where that is older; or earlier. */
  fromBlock: z.int().min(0).default(0),
  /** When a block counts as final: a tag of the chain, or a depth in blocks. */
  finality: z
    .union([z.enum(["latest", "safe", "finalized"]), z.int().min(0)], {
      error: "must be latest, safe, finalized or a whole number of blocks from 0 on",
    })
    .default("finalized"),
  /** The separate lock-up contract of version 1. */
  lockup: evmAddress.nullable().default(null),
  /** The identity registry of version 5, whose regions are its regulatory groups. */
  identityRegistry: evmAddress.nullable().default(null),
  groups: named.default({}),
  schedules: named.default({}),
  /** From 1: every wallet that was never put anywhere is in group 0. */
  whitelistGroupId: z.int().min(1).optional(),
  ta: transferAgent.optional(),
});

const isRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The form of the file, and of what was read of it. */
export const assetsFile = z
  .strictObject({
    projects: z.array(
      z.strictObject({
        name,
        /** Where transfer events are delivered; absent: they are only listed. */
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
        // One record cannot show the settings of both.
        ...project.tokens.flatMap((token, t) =>
          token.ledger === "evm"
            ? [
                {
                  // One that is malformed is compared, too, and is still as it was written.
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

/** A token of an EVM chain: the one type of it, from here to what is served. */
export type EvmToken = Extract<Token, { ledger: "evm" }>;

/**
 * The file cannot be used; the message has a line for each fault with its path inside the file. Stop:
 * correct it.
 */
export class AssetsFileError extends ConfigError {
  override readonly name = "AssetsFileError";
}

/**
 * Reads and checks the file that `ASSETS_FILE` names.
 * @throws AssetsFileError when it is missing, not JSON, or does not fit the form
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

/** Tokens on the Sui ledger, over all projects. */
export const suiTokens = (assets: Assets): readonly SuiToken[] =>
  assets.projects.flatMap(({ tokens }) => tokens.filter((token) => token.ledger === "sui"));

/** The issuer of a Sui token; undefined where the file has none. */
export const issuerOf = (assets: Assets, coinType: string): SuiToken["issuer"] =>
  suiTokens(assets).find((token) => token.issuer && canonicalType(token.coinType) === coinType)
    ?.issuer;
