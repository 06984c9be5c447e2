/** What operators paused, and pausing and resuming it. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Pause, Pauses } from "./answers.ts";
import { askPath } from "./ask.ts";
import { isOfOperators, usePath } from "./queries.ts";
import { useSession } from "./session.ts";

/** What can be paused. */
export type Pausable = Pick<Pause, "kind" | "name">;

/** Changes of others are seen as soon as the register changes, and at the latest after so many milliseconds. */
const EVERY_MS = 120_000;

/** Asked for with operator keys only. */
export const usePauses = () => {
  const { kind } = useSession();
  return usePath<Pauses>("/operator/pauses", {
    everyMs: EVERY_MS,
    enabled: kind === "operator",
  });
};

export const pauseOf = (pauses: Pauses | undefined, { kind, name }: Pausable): Pause | undefined =>
  pauses?.pauses.find((pause) => pause.kind === kind && pause.name === name);

/** `null` resumes; the error is an AskError. */
export const useSetPause = ({ kind, name }: Pausable) => {
  const { key } = useSession();
  const cache = useQueryClient();
  const path = `/operator/pauses/${kind}/${encodeURIComponent(name)}`;
  return useMutation({
    mutationFn: (pause: { readonly reason?: string } | null) =>
      askPath<object>(
        path,
        pause === null ? { key, method: "DELETE" } : { key, method: "PUT", body: pause },
      ),
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries({ predicate: isOfOperators }),
        cache.invalidateQueries({ queryKey: ["path", "/health"] }),
      ]),
  });
};
