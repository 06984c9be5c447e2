/** What pages are laid out with. */
import { type ReactNode, useContext } from "react";
import { Button } from "../controls/button.tsx";
import { AskError } from "../data/ask.ts";
import { isRefused } from "../data/queries.ts";
import { SessionContext } from "../data/session.ts";
import { CheckIcon, WarnIcon } from "../shown/icons.tsx";

/** Title of a page, what it shows in a sentence, and its actions. */
export const PageHead = ({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}) => (
  <header className="mb-5 flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
    <div className="min-w-0">
      <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
      {about === undefined ? null : <div className="mt-0.5 text-sm text-muted">{about}</div>}
    </div>
    {children === undefined ? null : (
      <div className="flex flex-wrap items-center gap-2">{children}</div>
    )}
  </header>
);

/** A titled area. `flush` for tables, which bring their own padding. */
export const Card = ({
  title,
  about,
  actions,
  flush = false,
  className = "",
  children,
}: {
  readonly title?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly flush?: boolean;
  readonly className?: string;
  readonly children: ReactNode;
}) => (
  <section className={`min-w-0 rounded-xl border border-line bg-surface ${className}`}>
    {title === undefined ? null : (
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 pt-3 pb-2">
        <div className="min-w-0">
          <h2 className="text-sm font-semibold">{title}</h2>
          {about === undefined ? null : <div className="text-xs text-muted">{about}</div>}
        </div>
        {actions}
      </div>
    )}
    <div className={flush ? "" : `px-4 pb-4 ${title === undefined ? "pt-4" : "pt-1"}`}>
      {children}
    </div>
  </section>
);

export type Tone = "plain" | "good" | "warn" | "bad" | "accent";

const TONES: Readonly<Record<Tone, string>> = {
  plain: "bg-sunken text-muted",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  accent: "bg-accent-soft text-accent",
};

/** A word on a state; never by colour alone. */
export const Badge = ({
  tone = "plain",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}) => (
  <span
    className={`inline-block max-w-full overflow-hidden text-ellipsis align-middle rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
  >
    {children}
  </span>
);

/** A word that may be cut on a phone, where the whole amount beside it matters more. */
export const Cut = ({
  text,
  children,
}: {
  readonly text: string;
  readonly children?: ReactNode;
}) => (
  <span
    className="inline-block overflow-hidden text-ellipsis align-middle max-md:max-w-22 max-[359px]:max-w-16"
    title={text}
  >
    {children ?? text}
  </span>
);

/** One number that matters, with its name and what it is compared with; nothing in it breaks inside a number. */
export const Figure = ({
  label,
  value,
  about,
  tone = "plain",
}: {
  /** A link in it opens from everywhere on the figure with `FIGURE_LINK`. */
  readonly label: ReactNode;
  readonly value: ReactNode;
  readonly about?: ReactNode;
  readonly tone?: Tone;
}) => (
  <div className="relative min-w-0 rounded-xl border border-line bg-surface px-4 py-3">
    <div className="text-xs font-medium text-muted">{label}</div>
    <div
      className={`figures mt-0.5 text-lg font-semibold tracking-tight max-md:text-base ${tone === "bad" ? "text-bad" : tone === "warn" ? "text-warn" : tone === "good" ? "text-good" : ""}`}
    >
      {value}
    </div>
    {about === undefined ? null : <div className="mt-0.5 text-xs text-muted">{about}</div>}
  </div>
);

export const FIGURE_LINK = "after:absolute after:inset-0 after:rounded-xl hover:text-accent";

/** Figures beside each other, two on a phone, one where it is very narrow. */
export const Figures = ({
  wide = 4,
  children,
}: {
  /** How many beside each other on a desk. */
  readonly wide?: 4 | 5;
  readonly children: ReactNode;
}) => (
  <div
    className={`grid grid-cols-1 gap-3 min-[360px]:grid-cols-2 ${wide === 4 ? "lg:grid-cols-4" : "lg:grid-cols-5"}`}
  >
    {children}
  </div>
);

/** A sentence that must be read: what is wrong, and what to do. */
export const Notice = ({
  tone,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly title: string;
  readonly children?: ReactNode;
}) => (
  <div
    role={tone === "bad" ? "alert" : "status"}
    className={`flex gap-3 rounded-xl px-4 py-3 text-sm ${TONES[tone]}`}
  >
    <span className="mt-0.5">{tone === "good" ? <CheckIcon /> : <WarnIcon />}</span>
    <div className="min-w-0">
      <div className="font-semibold">{title}</div>
      {children === undefined ? null : <div className="mt-0.5 text-ink">{children}</div>}
    </div>
  </div>
);

/** Nothing to show, and why that is right. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}) => (
  <div className="px-4 py-8 text-center text-sm">
    <div className="font-medium">{title}</div>
    {children === undefined ? null : (
      <div className="mx-auto mt-1 max-w-prose text-muted">{children}</div>
    )}
  </div>
);

/** In place of what is being asked for; lines as high as text. */
export const Loading = ({ lines = 4 }: { readonly lines?: number }) => (
  <div role="status" aria-label="Loading" className="space-y-2 px-4 py-4">
    {Array.from({ length: lines }, (_, line) => (
      <div
        // Nothing else tells them apart.
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        key={line}
        className="h-4 motion-safe:animate-pulse rounded bg-sunken"
      />
    ))}
  </div>
);

/** What could not be answered, why, and the way on. */
export const Failed = ({
  error,
  what,
  onRetry,
}: {
  readonly error: Error;
  /** What was asked for: "The cap table". */
  readonly what: string;
  readonly onRetry?: (() => void) | undefined;
}) => {
  const control = useContext(SessionContext);
  const asked = error instanceof AskError ? error : null;
  // Revoked while the page was open: asking again cannot help, another key can.
  const keyGone = asked?.status === 401 && control?.session != null;
  const isRebuilding = asked?.code === "REBUILDING";
  return (
    <div role="alert" className="px-4 py-6 text-center text-sm">
      <div className="font-medium">
        {isRebuilding ? `${what} is being rebuilt` : `${what} could not be read`}
      </div>
      <div className="mx-auto mt-1 max-w-prose break-words text-muted">
        {keyGone
          ? "The service no longer knows the key that this page is signed in with: it was revoked or has expired."
          : isRebuilding
            ? "The service is rebuilding it from its log, and shows it once that is complete. Nothing is lost."
            : error.message}
        {!keyGone && !isRebuilding && onRetry !== undefined && !isRefused(error)
          ? " It is asked for again by itself."
          : ""}
      </div>
      {asked === null || asked.requestId === null ? null : (
        <div className="mt-1 font-mono text-xs text-muted">request {asked.requestId}</div>
      )}
      {keyGone ? (
        <Button className="mt-3" onClick={() => control.signOut()}>
          Sign in again
        </Button>
      ) : onRetry === undefined ? null : (
        <Button className="mt-3" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
};
