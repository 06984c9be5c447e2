/** Scopes of the pipeline `transfer_events`: the tokens of each project on each network. */
import type { Assets, EvmToken } from "../settings/assets.ts";
import { MOST_NETWORKS, TransferEventIdError } from "./ids.ts";
import { projectsOf } from "./projects.ts";
import type { Scope } from "./records.ts";
import { type TokenBook, tokenBook } from "./token-json.ts";

export type TransferScope = Scope & {
  readonly network: string;
  readonly tokens: readonly EvmToken[];
  /** The tokens' lowest first block. */
  readonly firstBlock: bigint;
  readonly hasCallbacks: boolean;
  readonly book: TokenBook;
};

/** @throws TransferEventIdError (stop) for a project of too many networks */
export const transferScopes = (assets: Assets): readonly TransferScope[] =>
  projectsOf(assets).flatMap((project) => {
    const chains = Map.groupBy(project.tokens, ({ chainId }) => chainId);
    if (chains.size > MOST_NETWORKS) {
      throw new TransferEventIdError(
        `project ${project.name} has tokens on ${chains.size} networks; ids have room for ${MOST_NETWORKS}: list the others in another project`,
      );
    }
    const book = tokenBook(project);
    return [...chains].map(([chainId, tokens]) => ({
      project: project.name,
      chainId,
      network: tokens[0]?.network ?? "",
      tokens,
      firstBlock: BigInt(Math.min(...tokens.map(({ fromBlock }) => fromBlock))),
      hasCallbacks: project.callbackUrl !== undefined,
      book,
    }));
  });
