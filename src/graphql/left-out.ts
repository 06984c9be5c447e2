/** Coins in quarantine that the lists of a request leave out: the answer's `extensions.quarantined`. */
import type { HeldIn } from "../projections/held-coins.ts";

export type LeftOut = {
  /** Called by a list. */
  add(held: readonly HeldIn[]): void;
  /** The answer's extensions; undefined when none was left out. */
  extensions(): { readonly quarantined: readonly object[] } | undefined;
};

/** Each pipeline names a coin once, however many lists leave it out. */
export const createLeftOut = (): LeftOut => {
  const coins = new Map<string, HeldIn>();
  return {
    add: (held) => {
      for (const coin of held) coins.set(`${coin.pipeline} ${coin.coinType}`, coin);
    },
    extensions: () =>
      coins.size === 0 ? undefined : { quarantined: [...coins.values()].map(shownHold) },
  };
};

/** A held coin as callers see it. */
export const shownHold = ({ coinType, pipeline, from, reason }: HeldIn) => ({
  coinType,
  pipeline,
  checkpoint: from.toString(),
  reason,
});
