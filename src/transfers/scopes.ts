/** What the pipeline `transfer_events` works on, from the assets file. */
import { createHash } from "node:crypto";
import type { Callback } from "../callbacks/enqueue.ts";
import type { EvmNetwork } from "../evm/contract/network.ts";
import type { Assets } from "../settings/assets.ts";
import { highest, lowest } from "../values/block-numbers.ts";
import { MOST_NETWORKS, TransferEventIdError } from "./id.ts";
import { type Project, projectsOf, type TokenBook, tokenBook } from "./projects.ts";
import { placeOf, recordValue } from "./record.ts";
import type { TransferEvent } from "./records.ts";
import type { TransferScope } from "./standing.ts";

/** Key under which a project's callback address is registered. */
export const callbackEndpoint = (project: string): string => `project:${project}`;

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
    callbacksOf:
      project.callbackUrl === undefined
        ? null
        : async (tx, events) => {
            await book.load(tx, events.map(placeOf));
            return events.map((event) => callbackOf(project.name, book, event));
          },
    undescribed: async (tx, addresses) => {
      const asked = addresses.map((token) => ({ chainId, token }));
      await book.load(tx, asked);
      return asked.filter((token) => book.of(token) === null).map(({ token }) => token);
    },
  };
};

/** A record's message: in order with those of its token, and the same however often it is made. */
const callbackOf = (project: string, book: TokenBook, event: TransferEvent): Callback => {
  const token = book.of(placeOf(event));
  if (token === null) throw new Error(`record ${event.id} of ${event.token} has no token`);
  const { id, chainId, block, txHash, logIndex } = event;
  // By its place on the chain: a record that a reorganisation moved is another message, one that was
  // made anew with other settings is not, whatever its id.
  const cause = `${project} ${chainId} ${block} ${txHash} ${logIndex}`;
  return {
    endpoint: callbackEndpoint(project),
    lane: `${chainId}:${event.token}`,
    id: `te_${createHash("sha256").update(cause).digest("hex").slice(0, 40)}`,
    type: "transfer_event",
    reference: id,
    body: recordValue(event, token),
  };
};
