/** Giving, changing and removing a label, for operators whose key sees labels. */
import { Dialog } from "@base-ui/react/dialog";
import { type FormEvent, useState } from "react";
import { Button, buttonClass, TextField } from "../controls/controls.tsx";
import { type Label, type Subject, useLabels, useSetLabel } from "../data/labels.ts";
import { useSession } from "../data/session.ts";
import { EditIcon } from "../shown/icons.tsx";
import { Moment } from "../shown/shown.tsx";
import { Notice } from "./blocks.tsx";

/** A button that opens the editor; nothing for other keys. */
export const EditLabel = ({
  coinType,
  of: subject,
  name,
}: {
  readonly coinType: string;
  readonly of: Subject;
  /** What is labelled: "Holder 7". */
  readonly name: string;
}) => {
  const { kind } = useSession();
  const { seesLabels, labelOf } = useLabels(coinType);
  const [open, setOpen] = useState(false);
  if (kind !== "operator" || !seesLabels) return null;
  const label = labelOf(subject);
  const action = label === undefined ? `Label ${name}` : `Change the label of ${name}`;
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger
        aria-label={action}
        title={action}
        className="inline-grid size-6 shrink-0 place-items-center rounded text-muted hover:bg-sunken hover:text-ink print:hidden"
      >
        <EditIcon />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Popup className="fixed top-1/2 left-1/2 z-50 w-[min(28rem,92vw)] -translate-x-1/2 -translate-y-1/2 rounded-xl border border-line bg-surface p-5 shadow-xl">
          <Dialog.Title className="text-base font-semibold">{action}</Dialog.Title>
          <Dialog.Description className="mt-1 text-sm text-muted">
            Seen by keys made with --labels, beside the number. It is no part of the register.
          </Dialog.Description>
          <Form coinType={coinType} subject={subject} label={label} onDone={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
};

const Form = ({
  coinType,
  subject,
  label,
  onDone,
}: {
  readonly coinType: string;
  readonly subject: Subject;
  readonly label: Label | undefined;
  readonly onDone: () => void;
}) => {
  const [text, setText] = useState(label?.text ?? "");
  const [isSealed, setSealed] = useState(label?.isSealed ?? false);
  const change = useSetLabel(coinType, subject, label);
  const set = (to: string | null) => change.mutate({ text: to, isSealed }, { onSuccess: onDone });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set(text.trim());
  };
  return (
    <form className="mt-4 space-y-3" onSubmit={submit}>
      <TextField
        label="Label"
        maxLength={200}
        required
        autoFocus
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5 size-4 accent-(--accent)"
          checked={isSealed}
          onChange={(event) => setSealed(event.target.checked)}
        />
        <span>
          Store it sealed
          <span className="block text-xs text-muted">
            For personal data; a search finds it whole.
          </span>
        </span>
      </label>
      {label === undefined ? null : (
        <p className="text-xs text-muted">
          Given by {label.by}, <Moment at={label.at} />
        </p>
      )}
      {change.error === null ? null : (
        <Notice tone="bad" title="Not saved">
          {change.error.message}
        </Notice>
      )}
      <div className="flex justify-end gap-2 pt-1">
        {label === undefined ? null : (
          <Button
            look="quiet"
            className="mr-auto"
            disabled={change.isPending}
            onClick={() => set(null)}
          >
            Remove
          </Button>
        )}
        <Dialog.Close className={buttonClass("plain")}>Cancel</Dialog.Close>
        <button
          type="submit"
          className={buttonClass("strong")}
          disabled={change.isPending || text.trim() === ""}
        >
          Save
        </button>
      </div>
    </form>
  );
};
