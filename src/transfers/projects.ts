import type { Assets, EvmToken } from "../settings/assets.ts";

/** A project as transfer events know it. */
export type Project = {
  readonly name: string;
  readonly callbackUrl: string | undefined;
  /** Its EVM tokens; those of the Sui ledger have no transfer events. */
  readonly tokens: readonly EvmToken[];
};

/** The projects of the assets file, each with its EVM tokens. */
export const projectsOf = ({ projects }: Assets): readonly Project[] =>
  projects.map(({ name, callbackUrl, tokens }) => ({
    name,
    callbackUrl,
    tokens: tokens.filter((token) => token.ledger === "evm"),
  }));
