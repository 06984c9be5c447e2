/** A token over time, as the service draws it from its history: evenly spread moments of supply and of holders. */
import { type Asking, ask, graph } from "../data/ask.ts";
import { PAST, useRead } from "../data/queries.ts";
import { fromSeconds } from "../shown/moment.ts";

const supplyQuery =
  graph(`query Supply($coinType: String!, $from: String, $to: String!, $points: Int!) {
  supply(coinType: $coinType, from: $from, to: $to, points: $points) {
    checkpointTimestamp totalSupply
  }
}`);

const countsQuery = graph(`query HolderCounts(
  $coinType: String!, $from: String, $to: String!, $points: Int!
) {
  holderCounts(coinType: $coinType, from: $from, to: $to, points: $points) {
    checkpointTimestamp holders
  }
}`);

export type Series = {
  /** Milliseconds, ascending. */
  readonly times: readonly number[];
  /** One for each time. */
  readonly values: readonly bigint[];
};

/** Which part of a token's time, unix seconds. */
export type Range = {
  /** The token's beginning without it. */
  readonly from?: number;
  readonly to: number;
  readonly points: number;
};

type Variables = {
  readonly coinType: string;
  readonly from: string | null;
  readonly to: string;
  readonly points: number;
};

const useSeries = (
  name: string,
  coinType: string,
  { from, to, points }: Range,
  read: (variables: Variables, asking: Asking) => Promise<Series>,
  enabled = true,
) => {
  const variables = { coinType, from: from === undefined ? null : `${from}`, to: `${to}`, points };
  return useRead(PAST, [name, variables], (asking) => read(variables, asking), { enabled });
};

/** Supply by the treasury, smallest units; 0 until one was seen. */
export const useSupply = (coinType: string, range: Range) =>
  useSeries("supply", coinType, range, async (variables, asking) => {
    const points = (await ask(supplyQuery, variables, asking)).supply ?? [];
    return {
      times: points.map(({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
      values: points.map(({ totalSupply }) => BigInt(totalSupply ?? 0)),
    };
  });

/** Rows of the register: holders, and wallets without one. All movements are read for it. */
export const useHolderCounts = (
  coinType: string,
  range: Range,
  { enabled }: { readonly enabled: boolean },
) =>
  useSeries(
    "holder counts",
    coinType,
    range,
    async (variables, asking) => {
      const points = (await ask(countsQuery, variables, asking)).holderCounts ?? [];
      return {
        times: points.map(({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
        values: points.map(({ holders }) => BigInt(holders)),
      };
    },
    enabled,
  );
