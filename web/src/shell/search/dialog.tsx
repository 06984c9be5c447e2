/** The search: a field, and below it what it finds, in groups. */
import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useId, useMemo, useState } from "react";
import { addressOf, grouped, type Hit, type HitGroup } from "../../data/hits.ts";
import { recentHits, rememberHit } from "../../data/recent.ts";
import { useService } from "../../data/service.tsx";
import { useSession } from "../../data/session.ts";
import { useToken, useTokens } from "../../data/tokens.ts";
import { SearchIcon } from "../../shown/icons.tsx";
import { localHits } from "./local.ts";
import { confirmed, remoteHits, useAnswer } from "./remote.ts";

type Page = { readonly to: string; readonly label: string };

const SearchDialog = ({
  pages,
  onClose,
}: {
  readonly pages: readonly Page[];
  readonly onClose: () => void;
}) => (
  <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <Dialog.Popup
        aria-label="Search"
        className="fixed top-[8dvh] left-1/2 z-50 flex max-h-[80dvh] w-[min(38rem,94vw)] -translate-x-1/2 flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-xl"
      >
        <Search pages={pages} onClose={onClose} />
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
);

const Search = ({
  pages,
  onClose,
}: {
  readonly pages: readonly Page[];
  readonly onClose: () => void;
}) => {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const helpId = useId();
  const { groups, error, isPending } = useGroups(text, pages);
  const open = (hit: Hit) => {
    rememberHit(hit);
    onClose();
    void navigate({ to: hit.path, search: hit.search });
  };
  const sought = text.trim();
  return (
    <Autocomplete.Root
      open
      inline
      mode="none"
      items={groups}
      value={text}
      onValueChange={setText}
      itemToStringValue={({ title }: Hit) => title}
      autoHighlight="always"
      keepHighlight
    >
      <div className="flex items-center gap-2 border-b border-line px-3 text-muted">
        <SearchIcon />
        <Autocomplete.Input
          aria-label="Search"
          aria-describedby={helpId}
          placeholder="Holder, wallet, transaction, token, checkpoint, date…"
          spellCheck={false}
          autoComplete="off"
          className="h-11 min-w-0 grow bg-transparent text-base text-ink outline-none placeholder:text-muted"
        />
        <Dialog.Close className="rounded border border-line px-1.5 text-xs hover:bg-sunken">
          Esc
        </Dialog.Close>
      </div>
      <span id={helpId} className="sr-only">
        Arrow keys choose, Enter opens.
      </span>
      <Autocomplete.Empty className="text-sm text-muted">
        <p className="px-4 py-6 text-center">
          {sought === ""
            ? "Paste anything that the page shows, also shortened: an address, a digest, a number, a date."
            : isPending
              ? "Searching…"
              : error === null
                ? `Nothing found for “${sought}”.`
                : "Nothing found by its form."}
        </p>
      </Autocomplete.Empty>
      <Autocomplete.List className="min-h-0 grow overflow-y-auto overscroll-contain p-1.5">
        {(group: HitGroup) => (
          <Autocomplete.Group key={group.value} items={group.items} className="not-last:mb-1">
            <Autocomplete.GroupLabel className="px-2.5 pt-1.5 pb-0.5 text-xs font-medium text-muted">
              {group.value}
            </Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(hit: Hit) => (
                <Autocomplete.Item
                  key={addressOf(hit)}
                  value={hit}
                  onClick={() => open(hit)}
                  className="flex cursor-pointer items-baseline justify-between gap-4 rounded-md px-2.5 py-1.5 text-sm data-highlighted:bg-accent-soft data-highlighted:text-accent"
                >
                  <span className="min-w-0 truncate">
                    {hit.title}
                    {hit.label == null ? null : <span className="text-muted"> {hit.label}</span>}
                  </span>
                  <span className="min-w-0 shrink truncate text-xs text-muted">{hit.about}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
      {error === null ? null : (
        <p role="alert" className="border-t border-line px-4 py-2 text-xs text-bad">
          The service could not search: {error.message}
        </p>
      )}
    </Autocomplete.Root>
  );
};

/** What is found: first by its form alone, then by the service, too. Without a text the last finds. */
const useGroups = (text: string, pages: readonly Page[]) => {
  const { pathname: path } = useLocation();
  const token = useToken();
  const tokens = useTokens().data?.tokens;
  const { checkpoint } = useService();
  const { kind } = useSession();
  const recent = useMemo(recentHits, []);
  const { data: answer, error, isPending } = useAnswer(text);
  const isOperator = kind === "operator";
  const groups = useMemo((): readonly HitGroup[] => {
    if (text.trim() === "") return recent.length === 0 ? [] : [{ value: "Recent", items: recent }];
    const here = { path, token, tokens: tokens ?? [], checkpoint, isOperator, pages };
    const local = localHits(text, here);
    if (answer === undefined) return grouped(local);
    return grouped([...remoteHits(answer, here), ...confirmed(local, answer)]);
  }, [text, recent, path, token, tokens, checkpoint, isOperator, pages, answer]);
  return { groups, error, isPending };
};

export default SearchDialog;
