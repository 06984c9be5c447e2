/** A dialog that asks before an action that others will notice. */
import { AlertDialog } from "@base-ui/react/alert-dialog";
import { type ReactNode, useState } from "react";
import { Notice } from "../blocks/blocks.tsx";
import { useAct } from "../data/queries.ts";
import { Button, buttonClass } from "./controls.tsx";

export const Confirm = ({
  open,
  title,
  children,
  action,
  busy = false,
  cancel = "Cancel",
  onConfirm,
  onClose,
}: {
  readonly open: boolean;
  readonly title: string;
  /** What will happen, to whom. */
  readonly children: ReactNode;
  /** The label of the button: a verb. */
  readonly action: string;
  readonly busy?: boolean;
  readonly cancel?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) => (
  <AlertDialog.Root
    open={open}
    onOpenChange={(now) => {
      if (!now) onClose();
    }}
  >
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <AlertDialog.Popup className="fixed top-1/2 left-1/2 z-50 w-[min(30rem,92vw)] -translate-x-1/2 -translate-y-1/2 rounded-xl border border-line bg-surface p-5 shadow-xl">
        <AlertDialog.Title className="text-base font-semibold">{title}</AlertDialog.Title>
        <AlertDialog.Description render={<div />} className="mt-2 text-sm text-muted">
          {children}
        </AlertDialog.Description>
        <div className="mt-5 flex justify-end gap-2">
          <AlertDialog.Close className={buttonClass("plain")}>{cancel}</AlertDialog.Close>
          <Button look="strong" disabled={busy} onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
);

/** A button that posts to a path of operators, once confirmed. */
export const ActButton = <Answer extends object>({
  path,
  label,
  ariaLabel,
  disabledWhy,
  title,
  action,
  onDone,
  children,
}: {
  readonly path: string;
  readonly label: string;
  readonly ariaLabel?: string;
  /** Why the button is disabled; undefined: it is not. */
  readonly disabledWhy?: string | undefined;
  /** The question. */
  readonly title: string;
  /** The label of the confirming button. */
  readonly action: string;
  readonly onDone: (answer: Answer) => void;
  /** What will happen, to whom. */
  readonly children: ReactNode;
}) => {
  const [asking, setAsking] = useState(false);
  const act = useAct<Answer>(path);
  const close = () => {
    setAsking(false);
    act.reset();
  };
  const confirm = () =>
    act.mutate(undefined, {
      onSuccess: (answer) => {
        close();
        onDone(answer);
      },
    });
  return (
    <>
      <Button
        disabled={disabledWhy !== undefined}
        title={disabledWhy}
        aria-label={ariaLabel}
        onClick={() => setAsking(true)}
      >
        {label}
      </Button>
      <Confirm
        open={asking}
        title={title}
        action={action}
        busy={act.isPending}
        onConfirm={confirm}
        onClose={close}
      >
        {children}
        {act.error === null ? null : (
          <Notice tone="bad" title="Not sent" className="mt-3">
            {act.error.message}
          </Notice>
        )}
      </Confirm>
    </>
  );
};
