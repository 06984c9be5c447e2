/**
 * How the service is, in one place: from what `/health` says and from what this page sees itself. Everything that
 * says it, from the header to the cards, says this.
 */
import { clockText, spanText } from "../shown/moment.ts";
import type { State } from "./health.ts";

/** What the state is made of. */
export type Seen = {
  /** Since when the page's questions find nobody, milliseconds; null while they are answered. */
  readonly lostMs: number | null;
  /** The service no longer knows the key. */
  readonly refused: boolean;
  /** What `/health` said last; null before the first answer. */
  readonly health: {
    readonly status: State;
    /** When it came, milliseconds. */
    readonly atMs: number;
    /** How old it was then, seconds. */
    readonly ageSeconds: number;
    /** Of the first part that is stalled. */
    readonly reason: string | null;
    /** Why nobody can tell whether the chain has more; null where it can be told. */
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
  /** Two or three words, for every place that says it. */
  readonly word: string;
  readonly tone: "plain" | "good" | "warn" | "bad";
  /** A sentence more; null where the word says all. */
  readonly detail: string | null;
};

/** An answer older than this says nothing of now, milliseconds. */
export const OLD_ANSWER_MS = 20_000;
/** A checkpoint older than this is worth a word, milliseconds. */
export const OLD_CHECKPOINT_MS = 60_000;

/** The one state. Only `ok` is good: everything indexed, of a chain that moves, said just now. */
export const serviceState = (seen: Seen, nowMs: number): ServiceState => {
  const { lostMs, refused, health, fault, newestMs } = seen;
  if (lostMs !== null) {
    return {
      kind: "lost",
      word: `No answer since ${clockText(lostMs, nowMs)}`,
      tone: "bad",
      detail: "The page keeps asking; what it shows is from before.",
    };
  }
  if (refused) {
    return {
      kind: "refused",
      word: "Sign in again",
      tone: "bad",
      detail: "The service no longer knows the key of this page.",
    };
  }
  if (health === null) {
    return fault === null
      ? { kind: "connecting", word: "Connecting", tone: "plain", detail: null }
      : unknown(fault);
  }
  const knownMs = health.atMs - health.ageSeconds * 1_000;
  const since = `The service last knew its state at ${clockText(knownMs, nowMs)}.`;
  // Not asked for a while, such as by a machine that slept.
  if (nowMs - health.atMs > OLD_ANSWER_MS) return unknown(fault ?? since);
  if (health.status === "stalled") {
    return { kind: "stalled", word: "Stalled", tone: "bad", detail: health.reason };
  }
  if (fault !== null) return unknown(fault);
  if (nowMs - knownMs > OLD_ANSWER_MS) return unknown(since);
  if (health.status === "unknown")
    return unknown("The service reports a state that this page does not know.");
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
      detail: `All of the chain is indexed; its newest checkpoint is ${age} old.`,
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
