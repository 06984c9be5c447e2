/** Views as parts of the page: one that could not be loaded or drawn says so in its place. */
import { useQuery } from "@tanstack/react-query";
import type { ComponentType, FC } from "react";
import { isReplaced, type Part, part, REPLACED, usePart } from "../data/part.ts";
import { Fault, Loading } from "./answered.tsx";

type Page = { readonly default: ComponentType };
type View = FC & { readonly preload: () => Promise<void> };

/** For a route: `view(() => import("./page.tsx"))`. */
export const view = (load: () => Promise<Page>): View => {
  const one = part(load);
  // Pointing at a link loads its view; a failure is shown with the view.
  const preload = () =>
    one.load().then(
      () => undefined,
      () => undefined,
    );
  return Object.assign(() => <Viewed of={one} />, { preload });
};

const Viewed = ({ of: one }: { readonly of: Part<Page> }) => {
  const now = usePart(one);
  if (now.state === "loaded") return <now.module.default />;
  return now.state === "waiting" ? <Loading lines={6} /> : <NotLoaded of={one} what="This view" />;
};

/** Instead of a part that could not be loaded. */
export const NotLoaded = ({
  of: one,
  what,
}: {
  readonly of: Part<unknown>;
  /** "The chart". */
  readonly what: string;
}) => {
  const now = usePart(one);
  return (
    <Unshown
      title={`${what} could not be loaded`}
      replaced={now.state === "failed" && now.replaced}
      text="The page keeps trying. Leave it open: reloading forgets the key."
      onRetry={one.again}
    />
  );
};

/** Instead of a view that could not be drawn, such as from an answer of a newer service. */
export const Broken = ({
  error,
  reset,
}: {
  readonly error: unknown;
  readonly reset: () => void;
}) => (
  <Unshown
    title="This page could not be shown"
    replaced={useQuery({ queryKey: ["is replaced"], queryFn: isReplaced }).data === true}
    text={error instanceof Error ? error.message : String(error)}
    onRetry={reset}
  />
);

const Unshown = ({
  title,
  replaced,
  text,
  onRetry,
}: {
  readonly title: string;
  /** Whether the service has a newer page. */
  readonly replaced: boolean;
  readonly text: string;
  readonly onRetry: () => void;
}) => (
  <Fault
    title={title}
    action={replaced ? "Reload" : "Try again"}
    onAction={replaced ? () => location.reload() : onRetry}
  >
    {replaced ? REPLACED : text}
  </Fault>
);
