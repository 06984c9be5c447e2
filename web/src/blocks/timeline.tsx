/** A step of a timeline, which is an `<ol>` of them, the oldest on top. */
import type { ReactNode } from "react";
import { CheckIcon, CloseIcon } from "../shown/icons.tsx";

/** `now`: waiting for it; `later`: not begun. */
type StepState = "done" | "failed" | "now" | "later";

const DOTS: Readonly<Record<StepState, string>> = {
  done: "border-good bg-good-soft text-good",
  failed: "border-bad bg-bad-soft text-bad",
  now: "border-accent bg-accent-soft text-accent",
  later: "border-line bg-surface text-muted",
};

/** For screen readers. */
const WORDS: Readonly<Record<StepState, string>> = {
  done: "Done:",
  failed: "Failed:",
  now: "Waiting:",
  later: "Later:",
};

export const TimelineItem = ({
  state,
  title,
  aside,
  children,
}: {
  readonly state: StepState;
  readonly title: ReactNode;
  /** A time, on the right where there is room. */
  readonly aside?: ReactNode;
  readonly children?: ReactNode;
}) => (
  <li
    className="group relative flex gap-3 pb-4 last:pb-0"
    aria-current={state === "now" ? "step" : undefined}
  >
    <span
      aria-hidden="true"
      className="absolute top-5 bottom-0 left-[9px] w-px bg-line group-last:hidden"
    />
    <span
      aria-hidden="true"
      className={`relative mt-px grid size-5 shrink-0 place-items-center rounded-full border transition-colors duration-500 [&>svg]:size-3 ${DOTS[state]}`}
    >
      {state === "done" ? <CheckIcon /> : state === "failed" ? <CloseIcon /> : null}
      {state === "now" ? (
        <span className="size-2 rounded-full bg-accent motion-safe:animate-pulse" />
      ) : null}
    </span>
    <div className="min-w-0 grow">
      <div className="items-start justify-between gap-x-4 text-sm sm:flex">
        <div className={`min-w-0 break-words ${state === "later" ? "text-muted" : "font-medium"}`}>
          <span className="sr-only">{WORDS[state]} </span>
          <span className="inline-block max-w-full wrap-anywhere first-letter:uppercase">
            {title}
          </span>
        </div>
        {aside === undefined ? null : <div className="shrink-0 text-xs/5 text-muted">{aside}</div>}
      </div>
      {children === undefined ? null : <div className="mt-0.5 text-sm text-muted">{children}</div>}
    </div>
  </li>
);
