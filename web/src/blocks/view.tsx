/** Views as parts of the page: one that could not be loaded says so in its place, and comes by itself. */
import type { ComponentType, FC } from "react";
import { Button } from "../controls/button.tsx";
import { type Part, part, usePart } from "../data/part.ts";
import { Loading } from "./blocks.tsx";

type Page = { readonly default: ComponentType };
type View = FC & { readonly preload: () => Promise<void> };

/** For a route: `view(() => import("./page.tsx"))`. */
export const view = (load: () => Promise<Page>): View => {
  const one = part(load);
  // Pointing at a link loads what is behind it; what fails is said where it is shown.
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

/** In place of a part that could not be loaded. */
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
    <div role="alert" className="px-4 py-6 text-center text-sm">
      <div className="font-medium">{what} could not be loaded</div>
      <div className="mx-auto mt-1 max-w-prose text-muted">
        {replaced
          ? "The service has a newer version of this page. Reload it; you will be asked for the key again."
          : "The page keeps trying. Leave it open: reloading forgets the key."}
      </div>
      <Button className="mt-3" onClick={replaced ? () => location.reload() : one.again}>
        {replaced ? "Reload" : "Try again"}
      </Button>
    </div>
  );
};
