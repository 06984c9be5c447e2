import {
  closeCheckpoint,
  executeChangeEpoch,
  executePrologue,
  openCheckpoint,
} from "../chain/checkpoint.ts";
import { executeGenesis } from "../chain/genesis.ts";
import type { Keyring } from "../chain/keyring.ts";
import { emptyChain } from "../chain/state.ts";
import { FOUNDING } from "../company/founding.ts";
import { dueActs } from "../company/two-years.ts";
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
const FOUNDING_ENDS = BigInt(FOUNDING.length);

/** The same for a ledger with or without a company. */
export const openingEnds = (hasCompany: boolean): bigint =>
  hasCompany ? FOUNDING_ENDS : OPENING_ENDS;

/** Probability of a checkpoint without actions. */
const QUIET = 0.15;
/** Probability that it has no transaction at all. */
const BARE = 0.1;

/** @param foundedMs of the company whose two years are played; without it chance alone acts */
export const newWorld = (seed: string, keepsEvents: boolean, foundedMs?: bigint): World => ({
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
  ...(foundedMs !== undefined && { company: { foundedMs, day: 0 } }),
});

export const advance = (
  world: World,
  pace: Pace,
  keyring: Keyring,
  timestampMs: bigint,
  submissions: SubmissionQueue,
): SealedCheckpoint => {
  const { chain, dice, company } = world;
  const opening = company === undefined ? OPENING : FOUNDING;
  const open = openCheckpoint(chain, timestampMs);
  const stage: Stage = { world, pace, keyring, open };
  const { sequence } = open;

  if (sequence === 0n) executeGenesis(chain, open, account(stage, FAUCET));
  else if (sequence <= BigInt(opening.length)) {
    const step = opening[Number(sequence) - 1];
    if (step !== undefined && step !== "bare") {
      executePrologue(chain, open);
      step(stage);
    }
  } else {
    const actions = chance(dice, QUIET) ? 0 : actionsNow(stage);
    const acts = company === undefined ? [] : dueActs(stage, company);
    const isIdle = actions + acts.length === 0;
    const isBare = isIdle && chance(dice, BARE) && submissions.isEmpty;
    if (!isBare) {
      executePrologue(chain, open);
      submissions.executeAll(stage);
      for (const act of acts) act(stage);
      for (let n = 0; n < actions; n += 1) {
        if (chance(dice, pace.noise)) disturb(stage);
        else if (company === undefined) actAtRandom(stage);
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
