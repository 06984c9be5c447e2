import type { Assets, EvmToken } from "../settings/assets.ts";

export type Project = {
  readonly name: string;
  readonly callbackUrl: string | undefined;
  /** EVM tokens only: Sui tokens have no transfer events. */
  readonly tokens: readonly EvmToken[];
};

export const projectsOf = ({ projects }: Assets): readonly Project[] =>
  projects.map(({ name, callbackUrl, tokens }) => ({
    name,
    callbackUrl,
    tokens: tokens.filter((token) => token.ledger === "evm"),
  }));
