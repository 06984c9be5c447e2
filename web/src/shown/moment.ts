/** Moments and spans of time as people read them. Everything is shown in UTC, as registers are kept. */

/** `2026-05-04 13:02:11 UTC`. */
export const momentText = (ms: number): string => {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return "beyond any calendar";
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
};

/** `2026-05-04`. */
export const dayText = (ms: number): string => momentText(ms).slice(0, 10);

/** `13:02:11 UTC`, with its date where that is another. */
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

/** `4 min ago`, `in 3 d`. */
export const relativeText = (ms: number, nowMs: number): string =>
  ms <= nowMs ? `${spanText((nowMs - ms) / 1_000)} ago` : `in ${spanText((ms - nowMs) / 1_000)}`;

/** Unix seconds, decimal, as milliseconds. */
export const fromSeconds = (seconds: string): number => Number(seconds) * 1_000;

/** The end of yesterday in UTC, unix seconds: what a desk compares a morning with. */
export const yesterdaysClose = (nowMs: number): number =>
  Math.floor(nowMs / 86_400_000) * 86_400 - 1;

/** For `<input type="datetime-local">`, in UTC, to the second. */
export const fieldText = (seconds: number): string =>
  new Date(seconds * 1_000).toISOString().slice(0, 19);

/** What such an input says, unix seconds; null while it says nothing whole. */
export const fieldSeconds = (text: string): number | null => {
  const ms = Date.parse(`${text}${text.length === 16 ? ":00" : ""}Z`);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
};
