/** Which of the company's acts are due in a checkpoint, by its time. */
import type { Company, Stage } from "../issuer/stage.ts";
import { chance, draw } from "../random.ts";
import { SEED_DAY, SERIES_A_DAY } from "./cast.ts";
import { CHRONICLE } from "./chronicle.ts";
import { DAY_MS } from "./desk.ts";
import { actEveryday } from "./everyday.ts";

/** Days from the founding until the ledger goes on live. */
const DAYS = 730;
export const COMPANY_SPAN_MS = BigInt(DAYS) * DAY_MS;

type Act = (stage: Stage) => void;

/** Entries of the chronicle in one checkpoint, after which no further day begins in it. */
const MOST_ENTRIES = 50;
/** Other acts in one checkpoint: a history of few checkpoints leaves ordinary ones out. */
const MOST_EVERYDAY = 6;

/** Acts per checkpoint once the two years are over: four a minute at four checkpoints a second. */
const LIVE = 1 / 60;

/** Average acts of a weekday beside the chronicle's. */
const perDay = (day: number): number => {
  if (day < 40) return 0.5;
  if (day < SEED_DAY) return 1.5;
  return day < SERIES_A_DAY ? 3 : 5;
};

/** Marks the days up to the checkpoint as played, and returns their acts in order. */
export const dueActs = (stage: Stage, company: Company): readonly Act[] => {
  const { dice } = stage.world;
  const passed = Number((stage.open.timestampMs - company.foundedMs) / DAY_MS);
  if (company.day >= DAYS) return chance(dice, LIVE) ? [(on) => actEveryday(on, passed)] : [];
  const acts: Act[] = [];
  let [entries, everyday] = [0, 0];
  const last = Math.min(passed, DAYS - 1);
  for (; company.day <= last && entries < MOST_ENTRIES; company.day += 1) {
    const { day } = company;
    const told = CHRONICLE.get(day) ?? [];
    entries += told.length;
    acts.push(...told);
    const wanted = isWeekend(company, day) ? 0 : (draw(dice) / 0x1_0000_0000) * 2 * perDay(day);
    for (let n = 0; n < Math.round(wanted) && everyday < MOST_EVERYDAY; n += 1) {
      everyday += 1;
      acts.push((on) => actEveryday(on, day));
    }
  }
  return acts;
};

const isWeekend = ({ foundedMs }: Company, day: number): boolean => {
  const weekday = new Date(Number(foundedMs + BigInt(day) * DAY_MS)).getUTCDay();
  return weekday === 0 || weekday === 6;
};
