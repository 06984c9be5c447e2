/** The attempts of one delivery beside the list, at an address of its own. */
import { Dialog } from "@base-ui/react/dialog";
import { Link } from "@tanstack/react-router";
import { DeliveryBadge, kindText } from "../../blocks/office.tsx";
import { buttonClass } from "../../controls/button.tsx";
import { useTokenSearch } from "../../data/here.ts";
import { readDelivery } from "../../data/operator.ts";
import { usePath } from "../../data/queries.ts";
import { CloseIcon } from "../../shown/icons.tsx";
import { DeliveryAttempts } from "./attempts.tsx";

export const DeliveryPanel = ({
  id,
  onClose,
}: {
  readonly id: string | undefined;
  readonly onClose: () => void;
}) => (
  <Dialog.Root
    open={id !== undefined}
    onOpenChange={(open) => {
      if (!open) onClose();
    }}
  >
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <Dialog.Popup className="fixed inset-y-0 right-0 z-50 w-[min(32rem,100vw)] overflow-y-auto border-l border-line bg-surface p-5 shadow-xl">
        {id === undefined ? null : <Content id={id} />}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
);

const Content = ({ id }: { readonly id: string }) => {
  const token = useTokenSearch();
  const { data } = usePath(`/operator/deliveries/${encodeURIComponent(id)}`, readDelivery);
  const shown = data?.id === id ? data : undefined;
  return (
    <>
      <div className="mb-4 flex items-start justify-between gap-3">
        <div>
          <Dialog.Title className="text-base font-semibold">
            {shown === undefined ? "Callback" : `${kindText(shown.type)} callback`}
          </Dialog.Title>
          <div className="mt-1 flex flex-wrap items-center gap-2 text-sm">
            {shown === undefined ? null : <DeliveryBadge of={shown.state} />}
            {shown?.requestId == null ? null : (
              <Link
                to="/requests/$id"
                params={{ id: shown.requestId }}
                search={token}
                className="text-accent underline"
              >
                Its request
              </Link>
            )}
          </div>
        </div>
        <Dialog.Close className={buttonClass("quiet")} aria-label="Close">
          <CloseIcon />
        </Dialog.Close>
      </div>
      <DeliveryAttempts id={id} />
    </>
  );
};
