/** The foot of a list that is paged by where its last page ended. */
import { Button } from "../controls/button.tsx";
import { LeftIcon, RightIcon } from "../shown/icons.tsx";

export const Older = ({
  after,
  next,
  what,
  onPage,
}: {
  /** Where this page begins; undefined for the newest. */
  readonly after: string | undefined;
  readonly next: string | null;
  /** What is listed: "requests". */
  readonly what: string;
  readonly onPage: (after: string | undefined) => void;
}) =>
  after === undefined && next === null ? null : (
    <nav
      aria-label={`More ${what}`}
      className="flex items-center justify-between gap-3 border-t border-line px-4 py-2"
    >
      <Button look="quiet" disabled={after === undefined} onClick={() => onPage(undefined)}>
        <LeftIcon />
        Newest
      </Button>
      {after === undefined ? null : (
        <span className="text-xs text-muted">Older ones; they do not move as new ones come.</span>
      )}
      <Button look="quiet" disabled={next === null} onClick={() => onPage(next ?? undefined)}>
        Older
        <RightIcon />
      </Button>
    </nav>
  );
