/** A dialog that asks before an action that others will notice. */
import { AlertDialog } from "@base-ui/react/alert-dialog";
import type { ReactNode } from "react";
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
