/** The layout of pages: heads, cards, badges, figures, notices. */
import type { ReactNode } from "react";
import { Share } from "../controls/share.tsx";
import { Brief } from "../shown/fitted.tsx";
import { CheckIcon, CloseIcon, WarnIcon } from "../shown/icons.tsx";

/** Title of a page, a sentence about it, and its actions; a link to it and its print come by themselves. */
export const PageHead = ({
  title,
  about,
  checkpoint,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  /** Of what is shown, for links and prints; the newest without it. */
  readonly checkpoint?: string | undefined;
  readonly children?: ReactNode;
}) => (
  // On a desk what comes later into the left side, such as a label, must not push the actions below it.
  <header className="relative mb-5 flex flex-wrap items-end justify-between gap-x-6 gap-y-3 lg:flex-nowrap">
    <div className="min-w-0 lg:flex-1">
      <h1 className="text-xl font-semibold tracking-tight max-sm:pr-20">{title}</h1>
      {about === undefined ? null : <div className="mt-0.5 text-sm text-muted">{about}</div>}
    </div>
    <div className="flex flex-wrap items-center gap-2 lg:shrink-0 print:w-full">
      {children === undefined ? null : <div className="contents print:hidden">{children}</div>}
      <Share title={title} checkpoint={checkpoint} />
    </div>
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

/** A badge, and a sentence about it. */
export const Finding = ({
  tone,
  word,
  className = "text-sm",
  children,
}: {
  readonly tone: Tone;
  readonly word: string;
  readonly className?: string;
  readonly children: ReactNode;
}) => (
  <p className={className}>
    <Badge tone={tone}>{word}</Badge> <span className="text-muted">{children}</span>
  </p>
);

/** A check mark or a cross in a circle. */
export const Mark = ({ tone }: { readonly tone: Tone }) => (
  <span
    aria-hidden="true"
    className={`mt-px grid size-5 shrink-0 place-items-center rounded-full ${TONES[tone]}`}
  >
    {tone === "good" ? <CheckIcon /> : tone === "plain" ? null : <CloseIcon />}
  </span>
);

/** A word that may be cut on a phone, where the amount beside it matters more. */
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

const TEXTS: Readonly<Record<Tone, string>> = {
  plain: "",
  good: "text-good",
  warn: "text-warn",
  bad: "text-bad",
  accent: "text-accent",
};

const EDGES: Readonly<Record<Tone, string>> = {
  plain: "border-l-line",
  good: "border-l-good",
  warn: "border-l-warn",
  bad: "border-l-bad",
  accent: "border-l-accent",
};

/** One number that matters, with its name and a comparison; a number never breaks over lines. */
export const Figure = ({
  label,
  value,
  about,
  tone = "plain",
  edge,
}: {
  /** A link in it with `FIGURE_LINK` covers the whole figure. */
  readonly label: ReactNode;
  readonly value: ReactNode;
  readonly about?: ReactNode;
  readonly tone?: Tone;
  /** A state, as the colour of the left edge. */
  readonly edge?: Tone;
}) => (
  <div
    className={`relative min-w-0 rounded-xl border border-line bg-surface px-4 py-3 ${edge === undefined ? "" : `border-l-4 ${EDGES[edge]}`}`}
  >
    <div className="text-xs font-medium text-muted">{label}</div>
    <div
      className={`figures mt-0.5 text-lg font-semibold tracking-tight max-md:text-base ${TEXTS[tone]}`}
    >
      <Brief>{value}</Brief>
    </div>
    {about === undefined ? null : (
      <div className="mt-0.5 text-xs text-muted">
        <Brief>{about}</Brief>
      </div>
    )}
  </div>
);

export const FIGURE_LINK = "after:absolute after:inset-0 after:rounded-xl hover:text-accent";

/** Figures beside each other: two on a phone, one where it is very narrow. */
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

/** Names and values below each other. */
export const Facts = ({
  className = "",
  children,
}: {
  readonly className?: string;
  readonly children: ReactNode;
}) => (
  <dl
    className={`grid grid-cols-1 items-baseline gap-x-4 gap-y-1.5 text-sm min-[360px]:grid-cols-[auto_minmax(0,1fr)] ${className}`}
  >
    {children}
  </dl>
);

export const Fact = ({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ReactNode;
}) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="min-w-0">{children}</dd>
  </>
);

/** Lines of a card, from edge to edge. */
export const Lines = ({ children }: { readonly children: ReactNode }) => (
  <ul className="divide-y divide-line border-t border-line text-sm">{children}</ul>
);

/** A name on the left, with more about it below, and a value on the right. */
export const Line = ({
  name,
  about,
  children,
}: {
  readonly name: ReactNode;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}) => (
  <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-0.5 px-4 py-2">
    <div className="min-w-0 flex-1 basis-40">
      <div>{name}</div>
      {about === undefined ? null : <div className="text-xs text-muted">{about}</div>}
    </div>
    <div className="flex min-w-0 max-w-full flex-wrap items-center gap-x-2">{children}</div>
  </li>
);

/** A sentence that must be read: what is wrong, and what to do. */
export const Notice = ({
  tone,
  title,
  className = "",
  children,
}: {
  readonly tone: Tone;
  readonly title: string;
  readonly className?: string;
  readonly children?: ReactNode;
}) => (
  <div
    role={tone === "bad" ? "alert" : "status"}
    className={`flex gap-3 rounded-xl px-4 py-3 text-sm ${TONES[tone]} ${className}`}
  >
    <span className="mt-0.5">{tone === "good" ? <CheckIcon /> : <WarnIcon />}</span>
    <div className="min-w-0">
      <div className="font-semibold">{title}</div>
      {children === undefined ? null : <div className="mt-0.5 text-ink">{children}</div>}
    </div>
  </div>
);

/** Nothing to show, and why. */
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
