/** A place to drop a statement or an audit pack, and what checking it in this browser came to. */
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Badge, Notice } from "../../../blocks/blocks.tsx";
import { Button } from "../../../controls/button.tsx";
import { AskError, askPath } from "../../../data/ask.ts";
import { pathWith } from "../../../data/operator.ts";
import { readDeploymentKeys, readRoots } from "../../../data/proof.ts";
import { usePath } from "../../../data/queries.ts";
import { LongId } from "../../../shown/copied.tsx";
import { CheckIcon, CloseIcon } from "../../../shown/icons.tsx";
import { Amount, Moment } from "../../../shown/shown.tsx";
import { checkFiles } from "./check.ts";
import { type Files, filesOfDrop, filesOfList } from "./dropped.ts";
import { holds, type Report, type Said, type Step, UncheckableError } from "./report.ts";

type Checking =
  | { readonly state: "idle" }
  | { readonly state: "busy"; readonly done: number; readonly of: number }
  | { readonly state: "done"; readonly report: Report }
  | { readonly state: "unchecked"; readonly why: string };

const IDLE: Checking = { state: "idle" };

export const CheckFile = () => {
  const [checking, setChecking] = useState<Checking>(IDLE);
  const newest = useRef(0);
  const start = useCallback(async (gathering: Promise<Files> | Files) => {
    newest.current += 1;
    const turn = newest.current;
    const tell = (now: Checking) => {
      if (turn === newest.current) setChecking(now);
    };
    tell({ state: "busy", done: 0, of: 0 });
    try {
      const report = await checkFiles(await gathering, (done, of) => {
        if (done % 50 === 0) tell({ state: "busy", done, of });
      });
      tell({ state: "done", report });
    } catch (error) {
      tell({ state: "unchecked", why: whyNot(error) });
    }
  }, []);
  const over = useDrop(start);
  const close = () => {
    newest.current += 1;
    setChecking(IDLE);
  };
  return (
    <section aria-label="Check a file" className="mb-6">
      <div
        className={`flex flex-wrap items-center justify-between gap-x-6 gap-y-3 rounded-xl border-2 border-dashed px-4 py-4 transition-colors ${over ? "border-accent bg-accent-soft" : "border-line bg-surface"}`}
      >
        <div className="min-w-0 text-sm">
          <h2 className="font-semibold">
            {over ? "Let go to check it" : "Check a statement or an audit pack"}
          </h2>
          <p className="text-muted">
            Drop it anywhere on this page. It is checked in this browser; nothing of it is sent
            anywhere.
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Chooser label="Choose a file" onFiles={start} />
          <Chooser label="Choose a folder" folder onFiles={start} />
        </div>
      </div>
      <div aria-live="polite">
        {checking.state === "busy" ? (
          <p role="status" className="mt-3 text-sm text-muted">
            Checking…{checking.of > 0 ? ` ${checking.done} of ${checking.of} files` : ""}
          </p>
        ) : checking.state === "unchecked" ? (
          <div className="mt-3">
            <Notice tone="warn" title="Not checked">
              {checking.why}
            </Notice>
          </div>
        ) : checking.state === "done" ? (
          <Result report={checking.report} onClose={close} />
        ) : null}
      </div>
    </section>
  );
};

const whyNot = (error: unknown): string =>
  error instanceof UncheckableError
    ? error.message
    : `The file could not be read: ${error instanceof Error ? error.message : String(error)}`;

/** Takes what is dropped anywhere on the page; whether something is being dragged over it. */
const useDrop = (start: (files: Promise<Files>) => unknown): boolean => {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.dataTransfer === null || !hasFiles(event)) return;
      event.preventDefault();
      start(filesOfDrop(event.dataTransfer));
    };
    addEventListener("dragover", drag);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, [start]);
  return over;
};

const Chooser = ({
  label,
  folder = false,
  onFiles,
}: {
  readonly label: string;
  readonly folder?: boolean;
  readonly onFiles: (files: Files) => unknown;
}) => {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // React knows no such attribute.
    if (folder) input.current?.setAttribute("webkitdirectory", "");
  }, [folder]);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        {...(folder
          ? { multiple: true }
          : { accept: ".json,.zip,application/json,application/zip" })}
        onChange={({ target }) => {
          if (target.files !== null && target.files.length > 0) onFiles(filesOfList(target.files));
          // The same file may be chosen again, once it was changed.
          target.value = "";
        }}
      />
      <Button onClick={() => input.current?.click()}>{label}</Button>
    </>
  );
};

const Result = ({ report, onClose }: { readonly report: Report; readonly onClose: () => void }) => {
  const good = holds(report);
  return (
    <article
      aria-label="Result of the check"
      className="mt-3 overflow-hidden rounded-xl border border-line bg-surface"
    >
      <header
        className={`flex items-start justify-between gap-3 px-4 py-3 ${good ? "bg-good-soft" : "bg-bad-soft"}`}
      >
        <div className="min-w-0">
          <h3 className={`font-semibold ${good ? "text-good" : "text-bad"}`}>
            {good ? report.verdict : `This ${report.kind} does not hold: do not rely on it`}
          </h3>
          <p className="text-sm break-words">{report.title}</p>
        </div>
        <Button look="quiet" className="px-2" aria-label="Close the result" onClick={onClose}>
          <CloseIcon />
        </Button>
      </header>
      <div className="grid grid-cols-1 gap-x-8 gap-y-5 p-4 lg:grid-cols-2">
        <div className="min-w-0">
          <Heading>Checked here</Heading>
          <ol className="space-y-2.5">
            {report.steps.map((step) => (
              <StepLine key={step.title} step={step} />
            ))}
          </ol>
          <Heading className="mt-5">Whose key it is</Heading>
          <KeyCompared publicKey={report.publicKey} />
          {report.root === null ? null : <RootCompared key={report.root.root} {...report.root} />}
        </div>
        <div className="min-w-0">
          {report.says.length === 0 ? null : (
            <>
              <Heading>{good ? "What it says" : "What it claims"}</Heading>
              <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-sm">
                {report.says.map((said, index) => (
                  // Nothing is added to it, and wallets share a name.
                  // biome-ignore lint/suspicious/noArrayIndexKey: see above
                  <SaidLine key={index} said={said} />
                ))}
              </dl>
            </>
          )}
          <Heading className={report.says.length === 0 ? "" : "mt-5"}>Not checked</Heading>
          <ul className="list-disc space-y-1 pl-5 text-sm text-muted">
            {report.open.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      </div>
    </article>
  );
};

const Heading = ({
  className = "",
  children,
}: {
  readonly className?: string;
  readonly children: ReactNode;
}) => <h4 className={`mb-2 text-xs font-medium text-muted ${className}`}>{children}</h4>;

const LOOKS = {
  holds: { className: "bg-good-soft text-good", icon: <CheckIcon />, word: "Holds:" },
  fails: { className: "bg-bad-soft text-bad", icon: <CloseIcon />, word: "Does not hold:" },
  skipped: { className: "bg-sunken text-muted", icon: null, word: "Not looked at:" },
} as const;

const StepLine = ({ step: { title, result, details } }: { readonly step: Step }) => {
  const { className, icon, word } = LOOKS[result];
  return (
    <li className="flex gap-3 text-sm">
      <span
        aria-hidden="true"
        className={`mt-px grid size-5 shrink-0 place-items-center rounded-full ${className}`}
      >
        {icon}
      </span>
      <div className="min-w-0">
        <div className={result === "skipped" ? "text-muted" : "font-medium"}>
          <span className="sr-only">{word} </span>
          {title}
          {result === "skipped" ? " (not looked at)" : ""}
        </div>
        {details.map((detail) => (
          <div
            key={detail}
            className={`break-words first-letter:uppercase ${result === "fails" ? "text-bad" : "text-muted"}`}
          >
            {detail}
          </div>
        ))}
      </div>
    </li>
  );
};

const SaidLine = ({ said }: { readonly said: Said }) => (
  <>
    <dt className="text-muted">{said.name}</dt>
    <dd className="min-w-0">
      {"units" in said ? (
        <Amount units={said.units} decimals={said.decimals} />
      ) : "id" in said ? (
        <LongId text={said.id} what={said.name.toLowerCase()} head={12} tail={8} />
      ) : (
        said.text
      )}
    </dd>
  </>
);

/** The key in the file beside those that this service publishes. */
const KeyCompared = ({ publicKey }: { readonly publicKey: string | null }) => {
  const keys = usePath("/deployment-keys", readDeploymentKeys);
  if (publicKey === null) {
    return <p className="text-sm text-muted">Not known: the file was not read so far.</p>;
  }
  const known = keys.data?.find((key) => key.publicKey === publicKey);
  return (
    <div className="space-y-1 text-sm">
      <LongId text={publicKey} what="key" head={16} tail={8} />
      {keys.data === undefined ? (
        <p className="text-muted">
          {keys.error === null ? "Comparing…" : "The keys of this service could not be read."}
        </p>
      ) : known === undefined ? (
        <p>
          <Badge tone="warn">no key of this service</Badge>{" "}
          <span className="text-muted">
            Another deployment signed it, or somebody who made a key for it.
          </span>
        </p>
      ) : (
        <p>
          <Badge tone="good">a key of this service</Badge>{" "}
          <span className="text-muted">
            {known.keyId}, made <Moment ms={known.madeAtMs} />
          </span>
        </p>
      )}
    </div>
  );
};

/** Whether the service published the same root. Asked for on request alone: it tells the service what file there is. */
const RootCompared = ({
  coinType,
  checkpoint,
  root,
}: {
  readonly coinType: string;
  readonly checkpoint: string;
  readonly root: string;
}) => {
  const [found, setFound] = useState<
    "not asked" | "asking" | "same" | "other" | "none" | "no answer"
  >("not asked");
  const compare = async () => {
    setFound("asking");
    try {
      const [published] = await askPath(pathWith("/roots", { coinType, checkpoint }), readRoots);
      setFound(published === undefined ? "none" : published.root === root ? "same" : "other");
    } catch (error) {
      setFound(error instanceof AskError && error.status === 404 ? "none" : "no answer");
    }
  };
  return (
    <div className="mt-5">
      <Heading>Whether others see the same table</Heading>
      <div className="text-sm" aria-live="polite">
        {found === "same" ? (
          <p>
            <Badge tone="good">the published root</Badge>{" "}
            <span className="text-muted">
              This service publishes the same root for checkpoint {checkpoint}.
            </span>
          </p>
        ) : found === "other" ? (
          <p>
            <Badge tone="bad">another root is published</Badge>{" "}
            <span className="text-muted">
              There is one root for a checkpoint, for ever: one of the two is not the register's.
            </span>
          </p>
        ) : found === "none" ? (
          <p className="text-muted">
            This service publishes no root of this token at checkpoint {checkpoint}.
          </p>
        ) : (
          <>
            <Button disabled={found === "asking"} onClick={() => void compare()}>
              Compare with the published root
            </Button>
            <p className="mt-1 text-xs text-muted">
              {found === "no answer" ? "The service did not answer. " : ""}
              Tells this service the token and the checkpoint, and nothing else.
            </p>
          </>
        )}
      </div>
    </div>
  );
};
