/** The first thing a visitor without a key sees. */
import { type FormEvent, useState } from "react";
import { Notice } from "../blocks/blocks.tsx";
import { buttonClass } from "../controls/button.tsx";
import { TextField } from "../controls/field.tsx";
import { useSessionControl } from "../data/session.ts";
import mark from "./mark.svg";

export const SignIn = () => {
  const { signIn } = useSessionControl();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setRefused(null);
    try {
      await signIn(key.trim());
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex items-center gap-2.5">
          <img src={mark} alt="" width="32" height="32" />
          <h1 className="text-lg font-semibold tracking-tight">Holderbook</h1>
        </div>
        <form
          className="rounded-xl border border-line bg-surface p-5"
          onSubmit={(event) => void submit(event)}
        >
          <h2 className="mb-1 text-sm font-semibold">Sign in with an API key</h2>
          <p className="mb-4 text-sm text-muted">
            The key stays in this page's memory and is gone when you close or reload it.
          </p>
          <TextField
            label="API key"
            type="password"
            name="key"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            required
            placeholder="hb_operator_… or hb_graphql_…"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
          {refused === null ? null : (
            <div className="mt-3">
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
        <p className="mt-4 text-xs text-muted">
          A key of the kind <code>graphql</code> reads the register; one of the kind{" "}
          <code>operator</code> also sees requests and deliveries. Whoever runs this service makes
          one with <code className="whitespace-nowrap">holderbook keys create --kind operator</code>
          .
        </p>
      </div>
    </main>
  );
};
