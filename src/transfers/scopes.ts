/** What the pipeline `transfer_events` works on: the tokens of each project on each network. */
import type { EvmNetwork } from "../evm/contract/network.ts";
import type { EvmToken } from "../evm/contract/token.ts";
import type { Assets } from "../settings/assets.ts";
import { highest, lowest } from "../values/block-numbers.ts";
import { MOST_NETWORKS, TransferEventIdError } from "./ids.ts";
import { type Project, projectsOf } from "./projects.ts";
import type { Scope } from "./records.ts";
import { type TokenBook, tokenBook } from "./token-json.ts";

/** The tokens of one project on one network. */
export type TransferScope = Scope & {
  /** Slug of the network, for messages. */
  readonly network: string;
  readonly tokens: readonly EvmToken[];
  /** First block of the tokens. */
  readonly firstBlock: bigint;
  /** Whether the project has an address for callbacks. */
  readonly hasCallbacks: boolean;
  /** Prints the project's tokens. */
  readonly book: TokenBook;
};

/**
 * One scope per project and network.
 * @throws TransferEventIdError (stop) for a project of too many networks
 */
export const transferScopes = (
  assets: Assets,
  networks: readonly EvmNetwork[],
): readonly TransferScope[] =>
  projectsOf(assets).flatMap((project) => {
    const chainIds = [...new Set(project.tokens.map(({ chainId }) => chainId))];
    if (chainIds.length > MOST_NETWORKS) {
      throw new TransferEventIdError(
        `project ${project.name} has tokens on ${chainIds.length} networks; ids have room for ${MOST_NETWORKS}: list the others in another project`,
      );
    }
    const book = tokenBook(project);
    return chainIds.map((chainId) => scopeOf(project, book, networks, chainId));
  });

const scopeOf = (
  project: Project,
  book: TokenBook,
  networks: readonly EvmNetwork[],
  chainId: number,
): TransferScope => {
  const own = new Set(
    project.tokens.filter((token) => token.chainId === chainId).map(({ address }) => address),
  );
  const network = networks.find((each) => each.chainId === chainId);
  const tokens = network?.tokens.filter(({ address }) => own.has(address)) ?? [];
  const [first = 0n, ...others] = tokens.map(({ fromBlock }) => fromBlock);
  return {
    project: project.name,
    chainId,
    network: network?.name ?? "",
    tokens,
    firstBlock: highest(lowest(first, ...others), 0n),
    hasCallbacks: project.callbackUrl !== undefined,
    book,
  };
};
