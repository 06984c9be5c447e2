import {
  closeCheckpoint,
  executeChangeEpoch,
  executePrologue,
  openCheckpoint,
} from "../chain/checkpoint.ts";
import { executeGenesis } from "../chain/genesis.ts";
import type { Keyring } from "../chain/keyring.ts";
import { emptyChain } from "../chain/state.ts";
import { emptyModel } from "../model.ts";
import { chance, diceFrom, draw, emptyRoster } from "../random.ts";
import type { SealedCheckpoint } from "../wire/checkpoint.ts";
import { actAtRandom } from "./actions.ts";
import { disturb } from "./noise.ts";
import { OPENING } from "./opening.ts";
import { account, FAUCET, type Pace, type Stage, type World } from "./stage.ts";
import type { SubmissionQueue } from "./submissions.ts";

/** Last checkpoint of the opening, which is scripted; submissions wait until then. */
export const OPENING_ENDS = BigInt(OPENING.length);

/** Probability of a checkpoint without actions. */
const QUIET = 0.15;
/** Probability that it has no transaction at all. */
const BARE = 0.1;

export const newWorld = (seed: string, keepsEvents: boolean): World => ({
  chain: emptyChain(seed),
  securities: {
    packages: [],
    model: emptyModel(),
    treasuries: new Map(),
    rosters: new Map(),
    keepsEvents,
  },
  dice: diceFrom(seed),
  foreignPackages: [],
  imitations: [],
  upgradeCap: "",
  strangers: emptyRoster(),
});

export const advance = (
  world: World,
  pace: Pace,
  keyring: Keyring,
  timestampMs: bigint,
  submissions: SubmissionQueue,
): SealedCheckpoint => {
  const { chain, dice } = world;
  const open = openCheckpoint(chain, timestampMs);
  const stage: Stage = { world, pace, keyring, open };
  const { sequence } = open;

  if (sequence === 0n) executeGenesis(chain, open, account(stage, FAUCET));
  else if (sequence <= OPENING_ENDS) {
    const step = OPENING[Number(sequence) - 1];
    if (step !== undefined && step !== "bare") {
      executePrologue(chain, open);
      step(stage);
    }
  } else {
    const actions = chance(dice, QUIET) ? 0 : actionsNow(stage);
    const isBare = actions === 0 && chance(dice, BARE) && submissions.isEmpty;
    if (!isBare) {
      executePrologue(chain, open);
      submissions.executeAll(stage);
      for (let n = 0; n < actions; n += 1) {
        if (chance(dice, pace.noise)) disturb(stage);
        else actAtRandom(stage);
      }
    }
  }
  const endsEpoch = sequence % pace.epochLength === pace.epochLength - 1n;
  if (endsEpoch) executeChangeEpoch(chain, open);
  const commits = pace.commitsFrom !== undefined && sequence >= pace.commitsFrom;
  return closeCheckpoint(chain, open, endsEpoch, commits);
};

/** Uniform from 0 to twice the average. */
const actionsNow = ({ world, pace }: Stage): number => {
  const wanted = (draw(world.dice) / 0x1_0000_0000) * 2 * pace.actionsPerCheckpoint;
  const whole = Math.floor(wanted);
  return whole + (chance(world.dice, wanted - whole) ? 1 : 0);
};
