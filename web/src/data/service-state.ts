/** The state of the service, from `/health` and from what this page observes; every view shows this one. */
import { clockText, spanText } from "../shown/moment.ts";

/** The input of the state. */
export type Seen = {
  /** Since when the page gets no answers, milliseconds; null while it does. */
  readonly lostMs: number | null;
  /** The service no longer knows the key. */
  readonly refused: boolean;
  /** The last answer of `/health`; null before the first. */
  readonly health: {
    readonly status: string;
    /** When it arrived, milliseconds. */
    readonly atMs: number;
    /** Its age at that time, seconds. */
    readonly ageSeconds: number;
    /** Of the first stalled part. */
    readonly reason: string | null;
    /** Why it is unknown whether the chain has more; null while it is known. */
    readonly doubt: string | null;
    readonly notes: readonly string[];
  } | null;
  /** Why `/health` could not be read, though the service answers. */
  readonly fault: string | null;
  /** Time of the last checkpoint that all pipelines have committed, milliseconds; null before the first. */
  readonly newestMs: number | null;
};

export type ServiceState = {
  readonly kind:
    | "connecting"
    | "lost"
    | "refused"
    | "unknown"
    | "stalled"
    | "catching_up"
    | "quiet"
    | "ok";
  /** Two or three words. */
  readonly word: string;
  readonly tone: "plain" | "good" | "warn" | "bad";
  /** One more sentence; null where the word suffices. */
  readonly detail: string | null;
};

/** An older answer does not describe the present, milliseconds: longer than the longest pause between two of them. */
export const OLD_ANSWER_MS = 35_000;
/** An older checkpoint is mentioned, milliseconds. */
export const OLD_CHECKPOINT_MS = 60_000;

/** Only `ok` is good: everything of a moving chain is indexed, by a fresh answer. */
export const serviceState = (seen: Seen, nowMs: number): ServiceState => {
  const { lostMs, refused, health, fault, newestMs } = seen;
  if (lostMs !== null) {
    return {
      kind: "lost",
      word: `No answer since ${clockText(lostMs, nowMs)}`,
      tone: "bad",
      detail: "The page keeps trying; what it shows may be out of date.",
    };
  }
  if (refused) {
    return {
      kind: "refused",
      word: "Sign in again",
      tone: "bad",
      detail: "The key of this page was revoked or has expired.",
    };
  }
  if (health === null) {
    return fault === null
      ? { kind: "connecting", word: "Connecting", tone: "plain", detail: null }
      : unknown(fault);
  }
  const knownMs = health.atMs - health.ageSeconds * 1_000;
  const since = `Last known state of the service: ${clockText(knownMs, nowMs)}.`;
  // The machine may have slept.
  if (nowMs - health.atMs > OLD_ANSWER_MS) return unknown(fault ?? since);
  if (health.status === "stalled") {
    return { kind: "stalled", word: "Stalled", tone: "bad", detail: health.reason };
  }
  if (fault !== null) return unknown(fault);
  if (nowMs - knownMs > OLD_ANSWER_MS) return unknown(since);
  if (health.status !== "ok" && health.status !== "catching_up") {
    return unknown("The service reports a state that this page does not know; reload the page.");
  }
  if (health.doubt !== null) return unknown(health.doubt);
  const ageMs = newestMs === null ? null : nowMs - newestMs;
  if (health.status === "catching_up") {
    return {
      kind: "catching_up",
      word: ageMs === null ? "Nothing indexed yet" : behindText(ageMs),
      tone: "warn",
      detail: health.notes[0] ?? null,
    };
  }
  if (ageMs === null) {
    return { kind: "quiet", word: "Nothing indexed yet", tone: "warn", detail: null };
  }
  if (ageMs > OLD_CHECKPOINT_MS) {
    const age = spanText(ageMs / 1_000);
    return {
      kind: "quiet",
      word: `Chain quiet for ${age}`,
      tone: "warn",
      detail: `The whole chain is indexed; its newest checkpoint is ${age} old.`,
    };
  }
  return { kind: "ok", word: "Up to date", tone: "good", detail: health.notes[0] ?? null };
};

const unknown = (detail: string): ServiceState => ({
  kind: "unknown",
  word: "State unknown",
  tone: "warn",
  detail,
});

const behindText = (ageMs: number): string =>
  ageMs > OLD_CHECKPOINT_MS ? `${spanText(ageMs / 1_000)} behind` : "Catching up";
