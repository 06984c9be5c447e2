/** Moments of the calendar, in UTC, unix seconds: those that registers are asked for, and marks of a time line. */
import { momentText, yesterdaysClose } from "./moment.ts";

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** The last second before a month begins; months beyond the year count on. */
const endBefore = (year: number, month: number): number => Date.UTC(year, month) / 1_000 - 1;

/** Before the newest time, which is in milliseconds. */
export const PRESETS = [
  { name: "hour", label: "An hour ago", at: (ms: number) => Math.floor(ms / 1_000) - HOUR },
  { name: "yesterday", label: "Yesterday's close", at: yesterdaysClose },
  {
    name: "month",
    label: "End of last month",
    at: (ms: number) => endBefore(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth()),
  },
  {
    name: "quarter",
    label: "End of last quarter",
    at: (ms: number) => {
      const now = new Date(ms);
      return endBefore(now.getUTCFullYear(), now.getUTCMonth() - (now.getUTCMonth() % 3));
    },
  },
  {
    name: "year",
    label: "End of last year",
    at: (ms: number) => endBefore(new Date(ms).getUTCFullYear(), 0),
  },
] as const;

const TYPED = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)? ?(?:Z|UTC)?$/i;

/**
 * A time as one types it, in ISO 8601: `2026-05-04T13:02:11Z`, also without seconds, zone or `T`. A day alone is its last
 * second, as registers are kept. Null for anything else.
 */
export const typedSeconds = (text: string): number | null => {
  const [, day, minute = "23:59", second = minute === "23:59" ? ":59" : ":00"] =
    TYPED.exec(text.trim()) ?? [];
  if (day === undefined) return null;
  const ms = Date.parse(`${day}T${minute}${second}Z`);
  // 30 February is none of March.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== day) return null;
  return Math.floor(ms / 1_000);
};

/** `2026-05-04 13:02:11`. */
export const typedText = (seconds: number): string => momentText(seconds * 1_000).slice(0, 19);

export type Tick = { readonly at: number; readonly label: string };

/** Months between marks. */
const MONTHS = [1, 3, 12, 24, 60, 120];
/** Seconds between marks. */
const STEPS = [5 * 60, 15 * 60, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY];

/** Beginnings of hours, days, months, quarters or years between two times, at most so many. */
export const ticksBetween = (from: number, to: number, most: number): readonly Tick[] => {
  const step = STEPS.find((one) => (to - from) / one <= most);
  if (step !== undefined) {
    const first = Math.ceil(from / step) * step;
    const count = Math.floor((to - first) / step) + 1;
    return Array.from(
      { length: Math.max(0, Math.min(count, most)) },
      (_, at) => first + at * step,
    ).map((at) => ({
      at,
      label: momentText(at * 1_000).slice(
        ...(step < DAY ? ([11, 16] as const) : ([5, 10] as const)),
      ),
    }));
  }
  const begin = new Date(from * 1_000);
  for (const months of MONTHS) {
    const ticks: Tick[] = [];
    const first = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months;
    for (let month = first; ticks.length <= most; month += months) {
      const at = Date.UTC(Math.floor(month / 12), month % 12) / 1_000;
      if (at > to) break;
      if (at >= from) {
        ticks.push({ at, label: momentText(at * 1_000).slice(0, months < 12 ? 7 : 4) });
      }
    }
    if (ticks.length <= most) return ticks;
  }
  return [];
};
