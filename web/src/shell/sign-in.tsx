/** The first thing a visitor without a key sees. */
import { Notice } from "../blocks/blocks.tsx";
import { useSettings } from "../data/settings.ts";
import { CopyButton } from "../shown/copied.tsx";
import { KeyForm } from "./key-form.tsx";
import mark from "./mark.svg";

/** Kinds of keys, what each opens, and the command that makes one. */
const KINDS = [
  { kind: "graphql", opens: "The register: cap tables, movements, roles, proofs." },
  { kind: "operator", opens: "The register, and the transfer agent's requests and deliveries." },
] as const;

/** What makes a key of a kind, for whoever runs the service. */
export const makesKey = (kind: string): string =>
  `npm run holderbook -- keys create --kind ${kind} --label "operations desk"`;

/** A command to copy. */
export const Command = ({ text }: { readonly text: string }) => (
  <span className="mt-1 flex items-start gap-1 rounded-md bg-sunken py-1 pr-1 pl-2.5">
    <code className="min-w-0 grow py-0.5 font-mono text-xs break-words text-ink">{text}</code>
    <CopyButton text={text} what="command" />
  </span>
);

/** On the demo ledger: where the link is that signs in by itself. */
const DemoLink = ({ fault }: { readonly fault: Error | null }) => (
  <div className="mb-4">
    <Notice
      tone={fault === null ? "accent" : "warn"}
      title={fault === null ? "This is the demo" : "This link signs nobody in"}
    >
      {fault === null ? (
        <>
          <code>npm start</code> printed a link that opens this page signed in, once. Another one:
        </>
      ) : (
        <>It was already used, or a newer one was made. To get another:</>
      )}
      <Command text="npm run holderbook -- demo link" />
    </Notice>
  </div>
);

/** @param fault why the demo's link did not open; null without */
export const SignIn = ({ fault }: { readonly fault: Error | null }) => {
  const { demo } = useSettings();
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
        {demo === null ? null : <DemoLink fault={fault} />}
        <section className="rounded-xl border border-line bg-surface p-5">
          <h2 className="mb-1 text-sm font-semibold">Sign in with an API key</h2>
          <p className="mb-4 text-sm text-muted">
            It stays in the memory of this page. Reloading or closing the page forgets it.
          </p>
          <KeyForm focus />
        </section>
        <details className="mt-4 px-1 text-sm text-muted">
          <summary className="cursor-pointer py-1 font-medium hover:text-ink">
            Where do I get a key?
          </summary>
          <p className="mt-1">
            From whoever runs this service. They make one where it runs; it is shown once.
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
