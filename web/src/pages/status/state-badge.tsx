/** States as the service names them, in words and colours. */
import { Badge, type Tone } from "../../blocks/blocks.tsx";
import type { State } from "../../data/health.ts";

export const WORDS: Readonly<Record<State, { readonly word: string; readonly tone: Tone }>> = {
  ok: { word: "up to date", tone: "good" },
  catching_up: { word: "catching up", tone: "warn" },
  stalled: { word: "stalled", tone: "bad" },
  unknown: { word: "unknown", tone: "warn" },
};

export const StateBadge = ({ state }: { readonly state: State }) => (
  <Badge tone={WORDS[state].tone}>{WORDS[state].word}</Badge>
);
