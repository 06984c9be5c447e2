/** Finding requests by wallet, investor or id. The address has wallet and id; the investor is in the history alone. */
import { useLocation, useSearch } from "@tanstack/react-router";
import { type FormEvent, useEffect, useId, useState } from "react";
import { Button, buttonClass, TextField } from "../../controls/controls.tsx";
import { useChangeAddress } from "../../data/tokens.ts";

type Field = {
  readonly name: "wallet" | "investor" | "id";
  readonly label: string;
  readonly hint: string;
  /** What is wrong with a text; null: nothing. */
  readonly fault: (text: string) => string | null;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const FIELDS: readonly Field[] = [
  {
    name: "wallet",
    label: "Wallet",
    hint: "0x…",
    fault: (text) =>
      /^0x[0-9a-f]{1,64}$/i.test(text) ? null : "A wallet is 0x and up to 64 hex digits.",
  },
  {
    name: "investor",
    label: "Investor",
    hint: "the caller's id of an investor",
    fault: (text) => (text.length > 200 ? "An investor id has at most 200 characters." : null),
  },
  {
    name: "id",
    label: "Request id",
    hint: "7d444840-9dc0-11d1-b245-5ffdce74fad2",
    fault: (text) => (UUID.test(text) ? null : "A request id is a UUID, as callbacks show it."),
  },
];

type Texts = Readonly<Record<Field["name"], string>>;

/** What is looked for. */
export const useSought = () => {
  const { wallet, id } = useSearch({ from: "/requests" });
  const investor = useLocation({ select: ({ state }) => state.investor });
  return { wallet, investor, id };
};

export const FindRequests = () => {
  const sought = useSought();
  const { wallet = "", investor = "", id = "" } = sought;
  const change = useChangeAddress();
  const faultId = useId();
  const [texts, setTexts] = useState<Texts>({ wallet, investor, id });
  const [fault, setFault] = useState<{ name: Field["name"]; text: string } | null>(null);
  // The address may change by a link, or by going back.
  useEffect(() => setTexts({ wallet, investor, id }), [wallet, investor, id]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wanted = FIELDS.map((field) => ({ ...field, text: texts[field.name].trim() }));
    for (const { name, text, fault: faultOf } of wanted) {
      const wrong = text === "" ? null : faultOf(text);
      if (wrong !== null) return setFault({ name, text: wrong });
    }
    setFault(null);
    const [wallet, investor, id] = wanted.map(({ text }) => text || undefined);
    change({ after: undefined, wallet, id }, { investor });
  };
  const clear = () => {
    setFault(null);
    setTexts({ wallet: "", investor: "", id: "" });
    change({ after: undefined, wallet: undefined, id: undefined }, { investor: undefined });
  };
  return (
    <form
      aria-label="Find requests"
      className="mb-4 rounded-xl border border-line bg-surface px-4 py-3 print:hidden"
      onSubmit={submit}
    >
      <div className="flex flex-wrap items-end gap-3">
        {FIELDS.map(({ name, label, hint }) => (
          <TextField
            key={name}
            label={label}
            placeholder={hint}
            className="min-w-0 grow basis-52"
            autoComplete="off"
            spellCheck={false}
            value={texts[name]}
            aria-invalid={fault?.name === name}
            aria-describedby={fault?.name === name ? faultId : undefined}
            onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
          />
        ))}
        <div className="flex gap-2">
          <button type="submit" className={buttonClass("strong")}>
            Find
          </button>
          <Button look="quiet" disabled={Object.values(texts).join("") === ""} onClick={clear}>
            Clear
          </Button>
        </div>
      </div>
      {fault === null ? null : (
        <p id={faultId} role="alert" className="mt-2 text-xs text-bad">
          {fault.text}
        </p>
      )}
    </form>
  );
};
