/** The time in which there is anything of a token: from its first movement to the chain's newest checkpoint. */
import { graph } from "../data/graph.ts";
import { useGraph } from "../data/queries.ts";

const firstMovement = graph(`query FirstMovement($coinType: String!) {
  tokenActivity(coinType: $coinType, limit: 1) { checkpointTimestamp }
}`);

const newest = graph(`query Newest { _meta { checkpointTimestamp } }`);

/** Unix seconds. `from` is undefined while there is no movement; `to` is the machine's time until known. */
export const useTokenTime = (
  coinType: string,
): { readonly from: number | undefined; readonly to: number } => {
  const first = useGraph(firstMovement, { coinType }, { past: true }).data?.tokenActivity?.[0];
  const last = useGraph(newest, {}).data?._meta?.checkpointTimestamp;
  return {
    from: first === undefined ? undefined : Number(first.checkpointTimestamp),
    to: last == null ? Math.floor(Date.now() / 1_000) : Number(last),
  };
};
