import type { Assets, EvmToken } from "../settings/assets.ts";

/** The pipeline of transfer events: its name in locks, lines and pauses. */
export const TRANSFER_EVENTS = "transfer_events";

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
