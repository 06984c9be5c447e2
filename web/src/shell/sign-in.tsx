/** Signing in: the first page of a visitor without a key, and what operators' pages show with another key. */

import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { Notice, PageHead } from "../blocks/blocks.tsx";
import { buttonClass, TextField, useAction } from "../controls/controls.tsx";
import { useTitle } from "../controls/share.tsx";
import { AskError } from "../data/ask.ts";
import { STAY_HOURS } from "../data/kept-session.ts";
import { useSession, useSessionControl, useSettings } from "../data/session.ts";
import { CopyButton } from "../shown/copied.tsx";
import { KeyIcon } from "../shown/icons.tsx";
import { keyAdvice, refusalText } from "./key-advice.ts";
import mark from "./mark.svg";

/** Kinds of keys, and what each opens. */
const KINDS = [
  { kind: "graphql", opens: "The register: cap tables, movements, roles, proofs." },
  { kind: "operator", opens: "The register, and the transfer agent's requests and deliveries." },
] as const;

/** The command that makes a key. */
const makesKey = (kind: string): string =>
  `npm run holderbook -- keys create --kind ${kind} --label "operations desk"`;

/** A command to copy. */
const Command = ({ text }: { readonly text: string }) => (
  <span className="mt-1 flex items-start gap-1 rounded-md bg-sunken py-1 pr-1 pl-2.5">
    <code className="min-w-0 grow py-0.5 font-mono text-xs break-words text-ink">{text}</code>
    <CopyButton text={text} what="command" />
  </span>
);

/** How to get a link that signs in to the demo. */
const DemoLink = ({ fault }: { readonly fault: Error | null }) => (
  <div className="mb-4">
    <Notice
      tone={fault === null ? "accent" : "warn"}
      title={fault === null ? "This is the demo" : "This link is no longer valid"}
    >
      {fault === null ? (
        <>
          <code>npm start</code> printed a link that signs you in; it works once. To get another:
        </>
      ) : (
        <>It was already used, or replaced by a newer one. To get another:</>
      )}
      <Command text="npm run holderbook -- demo link" />
    </Notice>
  </div>
);

export const SignIn = () => {
  const { demo } = useSettings();
  const { fault } = useSessionControl();
  // The service refused the demo's link; otherwise the page itself ended the session.
  const isOfLink = fault instanceof AskError;
  useTitle("Sign in");
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <div className="w-full max-w-md">
        <div className="mb-5 flex items-center gap-2.5">
          <img src={mark} alt="" width="32" height="32" />
          <div>
            <h1 className="text-lg leading-tight font-semibold tracking-tight">Holderbook</h1>
            <p className="text-sm text-muted">The register of a security token's holders</p>
          </div>
        </div>
        {fault === null || isOfLink ? null : (
          <Notice tone="warn" title="Signed out" className="mb-4">
            {fault.message}
          </Notice>
        )}
        {demo === null ? null : <DemoLink fault={isOfLink ? fault : null} />}
        <section className="rounded-xl border border-line bg-surface p-5">
          <h2 className="mb-1 text-sm font-semibold">Sign in with an API key</h2>
          <p className="mb-4 text-sm text-muted">
            Reloading or closing the page forgets it, unless you stay signed in.
          </p>
          <KeyForm />
        </section>
        <p className="mt-4 px-1 text-sm text-muted">
          No key, but a statement or an audit pack?{" "}
          <Link to="/check" className="text-accent underline">
            Check the file
          </Link>
        </p>
        <details className="mt-2 px-1 text-sm text-muted">
          <summary className="cursor-pointer py-1 font-medium hover:text-ink">
            Where do I get a key?
          </summary>
          <p className="mt-1">
            Ask the operator of this service. A key is made on the server and shown once:
          </p>
          <dl className="mt-3 space-y-3">
            {KINDS.map(({ kind, opens }) => (
              <div key={kind}>
                <dt className="font-medium text-ink">{kind}</dt>
                <dd>
                  {opens}
                  <Command text={makesKey(kind)} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      </div>
    </main>
  );
};

/** Asks for a key and signs in with it. @param needed the only kind that is accepted here; any of this page's without */
const KeyForm = ({ needed }: { readonly needed?: "operator" }) => {
  const { signIn } = useSessionControl();
  const [key, setKey] = useState("");
  const [stay, setStay] = useState(false);
  const { busy, fault, setFault, run } = useAction();
  const faultId = useId();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const advice = keyAdvice(key, needed);
    if (advice !== null) return setFault(advice);
    void run(() =>
      signIn(key.trim(), { stay }).catch((error: unknown) => {
        throw new Error(refusalText(error));
      }),
    );
  };

  return (
    <form onSubmit={submit}>
      <TextField
        label={needed === undefined ? "API key" : "Operator key"}
        type="password"
        name="key"
        autoComplete="off"
        spellCheck={false}
        autoFocus={needed === undefined}
        required
        placeholder={needed === undefined ? "hb_operator_… or hb_graphql_…" : "hb_operator_…"}
        aria-invalid={fault !== null}
        aria-describedby={fault === null ? undefined : faultId}
        value={key}
        onChange={(event) => {
          setKey(event.target.value);
          setFault(null);
        }}
      />
      {fault === null ? null : (
        <div id={faultId} className="mt-3">
          <Notice tone="bad" title="Not signed in">
            {fault}
          </Notice>
        </div>
      )}
      <label className="mt-3 flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5 size-4 accent-(--accent)"
          checked={stay}
          onChange={(event) => setStay(event.target.checked)}
        />
        <span>
          Stay signed in for {STAY_HOURS} hours
          <span className="block text-xs text-muted">
            In this tab only, also after a reload, until you sign out.
          </span>
        </span>
      </label>
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

/** A page that needs an operator key: asks for one. */
export const OperatorsOnly = ({
  title,
  shows,
  children,
}: {
  readonly title: string;
  /** The end of the sentence "Here an operator sees …". */
  readonly shows: string;
  readonly children: ReactNode;
}) => {
  const { kind, lent } = useSession();
  if (kind === "operator") return <>{children}</>;
  return (
    <>
      <PageHead title={title} about={`Here an operator sees ${shows}.`} />
      <div className="grid grid-cols-1 max-w-4xl overflow-hidden rounded-xl border border-line bg-surface md:grid-cols-2">
        <section className="p-5" aria-label="Sign in as an operator">
          <h2 className="flex items-center gap-2 text-sm font-semibold">
            <KeyIcon />
            This page needs an operator key
          </h2>
          <p className="mt-1 mb-4 text-sm text-muted">
            {lent
              ? "The demo read key only reads the register."
              : "Your key only reads the register."}{" "}
            Sign in with an operator key: it replaces yours.
          </p>
          <KeyForm needed="operator" />
        </section>
        <section className="border-line bg-ground p-5 text-sm max-md:border-t md:border-l">
          <h2 className="font-semibold">How to get one</h2>
          <p className="mt-1 text-muted">
            It is made on the server and shown once. It opens everything that a read key opens, and
            can send callbacks again.
          </p>
          <Command text={makesKey("operator")} />
          <p className="mt-4 text-muted">
            Requests and deliveries never show personal data, not even to operators.
          </p>
        </section>
      </div>
    </>
  );
};
