/** Times and durations as people read them, always in UTC, as registers are kept. */

/** Whether a date can express it. */
export const isOnCalendar = (ms: number): boolean => Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;

/** `2026-05-04 13:02:11 UTC`. */
export const momentText = (ms: number): string => {
  if (!isOnCalendar(ms)) return "out of range";
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
};

/** `2026-05-04`. */
export const dayText = (ms: number): string => momentText(ms).slice(0, 10);

/** `13:02:11 UTC`, with its date on another day. */
export const clockText = (ms: number, nowMs: number): string => {
  const text = momentText(ms);
  return dayText(ms) === dayText(nowMs) ? text.slice(11) : text;
};

/** `4 min`, `3 h`, `12 d`: the largest unit that fits. */
export const spanText = (seconds: number): string => {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400 * 2) return `${Math.floor(s / 3_600)} h`;
  if (s < 86_400 * 730) return `${Math.floor(s / 86_400)} d`;
  return `${Math.floor(s / (86_400 * 365))} y`;
};

/** `12 ms`, `1.4 s`, `3 min 5 s`: for how long something took. */
export const durationText = (ms: number): string => {
  const [s, min, h] = [Math.floor(ms / 1_000), Math.floor(ms / 60_000), Math.floor(ms / 3_600_000)];
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (min < 1) return `${(ms / 1_000).toFixed(1)} s`;
  if (h < 1) return `${min} min ${s % 60} s`;
  return h < 24 ? `${h} h ${min % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
};

/** Between two times in ISO 8601. */
export const durationBetween = (from: string, to: string): string =>
  durationText(Date.parse(to) - Date.parse(from));

/** `4 min ago`, `in 3 d`. */
export const relativeText = (ms: number, nowMs: number): string =>
  ms <= nowMs ? `${spanText((nowMs - ms) / 1_000)} ago` : `in ${spanText((ms - nowMs) / 1_000)}`;

/** Unix seconds, decimal, as milliseconds. */
export const fromSeconds = (seconds: string): number => Number(seconds) * 1_000;

/** The end of yesterday in UTC, unix seconds. */
export const yesterdaysClose = (nowMs: number): number =>
  Math.floor(nowMs / 86_400_000) * 86_400 - 1;

/** For `<input type="datetime-local">`, in UTC, to the second. */
export const fieldText = (seconds: number): string =>
  new Date(seconds * 1_000).toISOString().slice(0, 19);

/** The value of such an input, unix seconds; null while it is incomplete. */
export const fieldSeconds = (text: string): number | null => {
  const ms = Date.parse(`${text}${text.length === 16 ? ":00" : ""}Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
};
