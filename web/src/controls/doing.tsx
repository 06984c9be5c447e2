/** What a reader starts and waits for. */
import { useState } from "react";

/** Whether it is under way, and why it did not come off. */
export const useDoing = () => {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const during = async (act: () => Promise<void>) => {
    setBusy(true);
    setFault(null);
    try {
      await act();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, fault, setFault, during };
};

/** The reason beside the button. */
export const Fault = ({ text }: { readonly text: string | null }) =>
  text === null ? null : (
    <span role="alert" className="text-xs text-bad">
      {text}
    </span>
  );
