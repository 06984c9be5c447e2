import type { CoinModel } from "../model.ts";
import type { Staff } from "./people.ts";
import type { Stage } from "./stage.ts";

/** A possible action; does nothing when no object fits. */
export type Action = {
  readonly weight: number;
  readonly run: (stage: Stage, coin: CoinModel, staff: Staff) => void;
};
