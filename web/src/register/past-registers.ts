/** Registers of the past at a few moments: how much the largest had together. */
import { ask, graph } from "../data/ask.ts";
import { PAST, useRead } from "../data/queries.ts";

const largestPage = graph(`query LargestThen($coinType: String!, $at: String!, $limit: Int!) {
  capTable(coinType: $coinType, atTimestamp: $at, limit: $limit) {
    issued rows { balance }
  }
}`);

/** How many of the largest. */
export const LARGEST = [1, 5, 10] as const;

/** Past registers that are asked for, one after the other: each is made from the history. */
const MOMENTS = 13;

/** Evenly spread moments, unix seconds, first and last included. */
export const momentsBetween = (from: number, to: number, count = MOMENTS): readonly number[] => {
  const steps = Math.max(1, Math.min(count - 1, to - from));
  return Array.from({ length: steps + 1 }, (_, step) =>
    Math.round(from + ((to - from) * step) / steps),
  );
};

/** Their part in hundredths of a percent, rounded down; 0 while nothing is issued. */
export const sharesOf = (issued: bigint, balances: readonly bigint[]): readonly bigint[] =>
  LARGEST.map((count) => {
    const held = balances.slice(0, count).reduce((sum, balance) => sum + balance, 0n);
    return issued === 0n ? 0n : (held * 10_000n) / issued;
  });

export type PastRegisters = {
  /** Milliseconds, ascending. */
  readonly times: readonly number[];
  /** Of the largest 1, 5 and 10, in hundredths of a percent. */
  readonly shares: readonly (readonly bigint[])[];
};

/** At moments from one time to another, unix seconds. */
export const usePastRegisters = (
  coinType: string,
  from: number | undefined,
  to: number,
  { enabled }: { readonly enabled: boolean },
) =>
  useRead(
    PAST,
    ["past registers", coinType, from ?? 0, to],
    async (asking): Promise<PastRegisters> => {
      const times = momentsBetween(from ?? to, to);
      const shares: (readonly bigint[])[] = [];
      for (const at of times) {
        const variables = { coinType, at: `${at}`, limit: Math.max(...LARGEST) };
        const { capTable } = await ask(largestPage, variables, asking);
        const balances = (capTable?.rows ?? []).map(({ balance }) => BigInt(balance));
        shares.push(sharesOf(BigInt(capTable?.issued ?? 0), balances));
      }
      return { times: times.map((at) => at * 1_000), shares };
    },
    { enabled: enabled && from !== undefined },
  );
