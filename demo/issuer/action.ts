import type { CoinModel } from "../model.ts";
import type { Staff } from "./people.ts";
import type { Stage } from "./stage.ts";

/** One thing somebody may do; it does nothing when there is nothing to do it with. */
export type Action = {
  readonly weight: number;
  readonly run: (stage: Stage, coin: CoinModel, staff: Staff) => void;
};
