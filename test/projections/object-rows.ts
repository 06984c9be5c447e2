/** Rows of the balance pipelines that say how objects stand, and nothing of how that came to be. */
import type { ObjectChange } from "../../src/projections/live-objects.ts";
import type { SharedTokenState, TokenRows } from "../../src/projections/shared-token-objects.ts";
import type { GrantRows, TimelockState } from "../../src/projections/timelock-objects.ts";
import { ACME } from "../pipelines/token-facts.ts";

/** An object as it stands, or gone; the coin of one that is gone is ACME unless given. */
type Standing<State> = Omit<ObjectChange<State>, "coinType"> & { readonly coinType?: string };

const changesOf = <State extends { readonly coinType: string }>(
  objects: readonly Standing<State>[],
): readonly ObjectChange<State>[] =>
  objects.map((object) => ({
    ...object,
    coinType: object.state?.coinType ?? object.coinType ?? ACME,
  }));

export const tokenRows = (objects: readonly Standing<SharedTokenState>[]): TokenRows => ({
  objects: changesOf(objects),
  ended: [],
  changes: [],
  grants: [],
  tokens: { seen: [], named: [], supplies: [] },
});

export const grantRows = (objects: readonly Standing<TimelockState>[]): GrantRows => ({
  objects: changesOf(objects),
  ended: [],
  changes: [],
});
