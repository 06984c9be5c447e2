/** Chooses one wallet, or all. */
import { type FormEvent, useState } from "react";
import { Button, buttonClass, TextField } from "../../controls/controls.tsx";
import { useChangeAddress } from "../../data/tokens.ts";

export const WalletField = ({ wallet }: { readonly wallet: string | undefined }) => {
  const change = useChangeAddress();
  const [text, setText] = useState(wallet ?? "");
  const wanted = text.trim();
  const isInvalid = wanted !== "" && !/^0x[0-9a-fA-F]{1,64}$/.test(wanted);
  const showAll = () => change({ wallet: undefined });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wanted === "") showAll();
    else if (!isInvalid) change({ kind: undefined, wallet: wanted });
  };
  return (
    <form className="flex min-w-0 flex-wrap items-end gap-2" onSubmit={submit}>
      <TextField
        label="Wallet"
        placeholder="0x…"
        className="w-64 max-w-full min-w-0"
        value={text}
        aria-invalid={isInvalid}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" disabled={isInvalid} className={buttonClass()}>
        Show
      </button>
      {wallet === undefined ? null : (
        <Button look="quiet" onClick={showAll}>
          All wallets
        </Button>
      )}
    </form>
  );
};
