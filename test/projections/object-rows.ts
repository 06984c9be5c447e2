/** Rows of the balance pipelines that say how objects stand, and nothing of how that came to be. */
import type { ObjectChange } from "../../src/projections/live-objects.ts";
import type { SharedTokenState, TokenRows } from "../../src/projections/shared-token-objects.ts";
import type { GrantRows, TimelockState } from "../../src/projections/timelock-objects.ts";

export const tokenRows = (objects: readonly ObjectChange<SharedTokenState>[]): TokenRows => ({
  objects,
  ended: [],
  changes: [],
  grants: [],
  tokens: { seen: [], named: [], supplies: [] },
});

export const grantRows = (objects: readonly ObjectChange<TimelockState>[]): GrantRows => ({
  objects,
  ended: [],
  changes: [],
});
