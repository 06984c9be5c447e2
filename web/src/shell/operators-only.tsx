/** Pages of operators: whoever signed in with another key is told which one opens them, and may change it here. */
import type { ReactNode } from "react";
import { PageHead } from "../blocks/blocks.tsx";
import { useSession } from "../data/session.ts";
import { KeyIcon } from "../shown/icons.tsx";
import { KeyForm } from "./key-form.tsx";
import { Command, makesKey } from "./sign-in.tsx";

export const OperatorsOnly = ({
  title,
  shows,
  children,
}: {
  readonly title: string;
  /** What the page would show, as the end of a sentence: "the requests of …". */
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
            This page takes an operator key
          </h2>
          <p className="mt-1 mb-4 text-sm text-muted">
            {lent
              ? "The key that the demo lent you reads the register alone."
              : "The key you signed in with reads the register alone."}{" "}
            Sign in with another one here; it replaces yours until you leave or reload the page.
          </p>
          <KeyForm label="Operator key" placeholder="hb_operator_…" needed="operator" />
        </section>
        <section className="border-line bg-ground p-5 text-sm max-md:border-t md:border-l">
          <h2 className="font-semibold">How to get one</h2>
          <p className="mt-1 text-muted">
            Whoever runs this service makes it there. It is shown once, opens everything that a read
            key opens, and may send callbacks again.
          </p>
          <Command text={makesKey("operator")} />
          <p className="mt-4 text-muted">
            Requests and deliveries are shown without any personal data, to operators too.
          </p>
        </section>
      </div>
    </>
  );
};
