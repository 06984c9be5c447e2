/** States of single parts as the service names them, in words and colours; how all are together is `useService`. */
import { Badge, type Tone } from "../../blocks/blocks.tsx";
import type { State } from "../../data/health.ts";
import { useService } from "../../data/service.tsx";

const WORDS: Readonly<Record<State, { readonly word: string; readonly tone: Tone }>> = {
  ok: { word: "caught up", tone: "good" },
  catching_up: { word: "catching up", tone: "warn" },
  stalled: { word: "stalled", tone: "bad" },
  unknown: { word: "unknown", tone: "warn" },
};

/** What was so when the service said it last is no colour any more. */
export const StateBadge = ({ state }: { readonly state: State }) => {
  const { old } = useService();
  const { word, tone } = WORDS[state];
  return old ? <Badge>last: {word}</Badge> : <Badge tone={tone}>{word}</Badge>;
};
