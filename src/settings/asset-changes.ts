/** What distinguishes two assets files, by the names of projects and tokens. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../client/canonical-json.ts";
import { canonicalType, MoveTypeError } from "../values/move-type.ts";
import type { Assets, Token } from "./assets.ts";

/** A project or token of the file, without addresses of providers and receivers. */
export type AssetEntry = {
  /** `project acme` or `token acme-share`. */
  readonly name: string;
  /** What its records were made from, which never changes under a name; empty for projects. */
  readonly is: string;
  /** Whether the transfer agent takes requests for it. */
  readonly hasAgent: boolean;
  /** Digest of all its settings. */
  readonly settings: string;
};

/** Names, each list in the file's order. */
export type AssetChanges = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Names that mean something else now. */
  readonly replaced: readonly {
    readonly name: string;
    readonly was: string;
    readonly is: string;
  }[];
  /** Tokens that the transfer agent no longer serves, by their names in requests. */
  readonly left: readonly string[];
};

const sha256 = (value: unknown): string =>
  createHash("sha256")
    .update(canonicalJson(JSON.parse(JSON.stringify(value))))
    .digest("hex");

/** SHA-256, hex, of what the file says; its layout and order of members do not count. */
export const assetsDigest = (assets: Assets): string => sha256(assets);

const TOKEN = "token ";

export const assetEntries = ({ projects }: Assets): readonly AssetEntry[] =>
  projects.flatMap(({ tokens, ...project }) => [
    { name: `project ${project.name}`, is: "", hasAgent: false, settings: sha256(project) },
    ...tokens.map((token) => ({
      name: `${TOKEN}${token.name}`,
      is: `${identityOf(token)} in project ${project.name}`,
      hasAgent: token.ta !== undefined,
      settings: sha256(token),
    })),
  ]);

const identityOf = (token: Token): string => {
  if (token.ledger === "sui") return `coin ${coinOf(token.coinType)}`;
  const { type, address, chainId, lockup, identityRegistry } = token;
  const beside = [
    ...(lockup === null ? [] : [`lockup ${lockup}`]),
    ...(identityRegistry === null ? [] : [`identity registry ${identityRegistry}`]),
  ];
  return [`${type} ${address} on chain ${chainId}`, ...beside].join(", ");
};

/** As written where it is no type. */
const coinOf = (text: string): string => {
  try {
    return canonicalType(text);
  } catch (error) {
    if (error instanceof MoveTypeError) return text;
    throw error;
  }
};

export const assetChanges = (
  before: readonly AssetEntry[],
  after: readonly AssetEntry[],
): AssetChanges => {
  const was = new Map(before.map((entry) => [entry.name, entry]));
  const is = new Map(after.map((entry) => [entry.name, entry]));
  const both = after.flatMap((entry) => {
    const former = was.get(entry.name);
    return former === undefined ? [] : [{ name: entry.name, former, entry }];
  });
  return {
    added: after.flatMap(({ name }) => (was.has(name) ? [] : [name])),
    changed: both.flatMap(({ name, former, entry }) =>
      former.settings === entry.settings && former.is === entry.is ? [] : [name],
    ),
    removed: before.flatMap(({ name }) => (is.has(name) ? [] : [name])),
    replaced: both.flatMap(({ name, former, entry }) =>
      former.is === entry.is ? [] : [{ name, was: former.is, is: entry.is }],
    ),
    left: before.flatMap(({ name, hasAgent }) =>
      hasAgent && is.get(name)?.hasAgent !== true ? [name.slice(TOKEN.length)] : [],
    ),
  };
};
