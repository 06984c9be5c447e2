/** Projects and their EVM tokens as records show them: what the assets file says and chains do not. */
import type { Address } from "../evm/contract/fact.ts";
import type { Assets, EvmToken } from "../settings/assets.ts";

/** A token as configured. */
export type ProjectToken = Pick<
  EvmToken,
  "name" | "network" | "chainId" | "type" | "finality" | "groups" | "schedules"
> & {
  /** In lower case. */
  readonly address: Address;
};

export type Project = {
  readonly name: string;
  readonly callbackUrl: string | undefined;
  readonly tokens: readonly ProjectToken[];
};

/** The projects of the assets file, each with its EVM tokens. */
export const projectsOf = ({ projects }: Assets): readonly Project[] =>
  projects.map(({ name, callbackUrl, tokens }) => ({
    name,
    callbackUrl,
    tokens: tokens
      .filter((token) => token.ledger === "evm")
      .map((token) => ({
        ...token,
        address: `0x${token.address.slice(2).toLowerCase()}` as const,
      })),
  }));
