/** Views as parts of the page: one that could not be loaded or drawn says so in its place. */
import { useQuery } from "@tanstack/react-query";
import type { ComponentType, FC } from "react";
import { Button } from "../controls/controls.tsx";
import { isReplaced, type Part, part, usePart } from "../data/part.ts";
import { Loading } from "./answered.tsx";

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
  const replaced = now.state === "failed" && now.replaced;
  return (
    <Fault
      title={`${what} could not be loaded`}
      replaced={replaced}
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
}) => {
  const replaced = useQuery({ queryKey: ["is replaced"], queryFn: isReplaced }).data === true;
  return (
    <Fault
      title="This page could not be shown"
      replaced={replaced}
      text={error instanceof Error ? error.message : String(error)}
      onRetry={reset}
    />
  );
};

const Fault = ({
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
  <div role="alert" className="px-4 py-6 text-center text-sm">
    <div className="font-medium">{title}</div>
    <div className="mx-auto mt-1 max-w-prose text-muted">
      {replaced
        ? "The service has a newer version of this page. Reload it; you will be asked for the key again."
        : text}
    </div>
    <Button className="mt-3" onClick={replaced ? () => location.reload() : onRetry}>
      {replaced ? "Reload" : "Try again"}
    </Button>
  </div>
);
