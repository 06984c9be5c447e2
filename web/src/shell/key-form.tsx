/** Asks for a key and signs in with it; the key stays in memory. */
import { type FormEvent, useId, useState } from "react";
import { Notice } from "../blocks/blocks.tsx";
import { buttonClass } from "../controls/button.tsx";
import { TextField } from "../controls/field.tsx";
import { type KeyKind, useSessionControl } from "../data/session.ts";
import { keyAdvice, refusalText } from "./key-advice.ts";

export const KeyForm = ({
  placeholder = "hb_operator_… or hb_graphql_…",
  label = "API key",
  focus = false,
  needed,
}: {
  readonly placeholder?: string;
  readonly label?: string;
  /** Whether the field takes the focus when it appears: only where there is nothing else to read. */
  readonly focus?: boolean;
  /** The kind that is taken here, where it is one alone. */
  readonly needed?: KeyKind;
}) => {
  const { signIn } = useSessionControl();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const told = useId();

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const advice = keyAdvice(key, needed);
    setRefused(advice);
    if (advice !== null) return;
    setBusy(true);
    try {
      await signIn(key.trim());
    } catch (error) {
      setRefused(refusalText(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)}>
      <TextField
        label={label}
        type="password"
        name="key"
        autoComplete="off"
        spellCheck={false}
        autoFocus={focus}
        required
        placeholder={placeholder}
        aria-invalid={refused !== null}
        aria-describedby={refused === null ? undefined : told}
        value={key}
        onChange={(event) => {
          setKey(event.target.value);
          setRefused(null);
        }}
      />
      {refused === null ? null : (
        <div id={told} className="mt-3">
          <Notice tone="bad" title="Not signed in">
            {refused}
          </Notice>
        </div>
      )}
      <button
        type="submit"
        disabled={busy || key.trim() === ""}
        className={`${buttonClass("strong")} mt-4 w-full`}
      >
        {busy ? "Signing in…" : "Sign in"}
      </button>
    </form>
  );
};
