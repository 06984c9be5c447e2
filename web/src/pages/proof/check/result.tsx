/** What checking a file came to. */
import { Button } from "../../../controls/button.tsx";
import { LongId } from "../../../shown/copied.tsx";
import { Amount } from "../../../shown/fitted.tsx";
import { CheckIcon, CloseIcon } from "../../../shown/icons.tsx";
import { Heading, KeyCompared, RootCompared } from "./compared.tsx";
import { type Report, type Said, type Step, toneOf } from "./report.ts";

export const Result = ({
  report,
  onClose,
}: {
  readonly report: Report;
  readonly onClose: () => void;
}) => {
  const tone = toneOf(report);
  const { header, heading } = TONES[tone];
  return (
    <article
      aria-label="Result of the check"
      className="mt-3 overflow-hidden rounded-xl border border-line bg-surface"
    >
      <header className={`flex items-start justify-between gap-3 px-4 py-3 ${header}`}>
        <div className="min-w-0">
          <h3 className={`font-semibold ${heading}`}>
            {tone !== "bad"
              ? report.verdict
              : `This ${report.kind} does not hold: do not rely on it`}
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
              <Heading>{tone === "bad" ? "What it claims" : "What it says"}</Heading>
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

const TONES = {
  good: { header: "bg-good-soft", heading: "text-good" },
  warn: { header: "bg-warn-soft", heading: "text-warn" },
  bad: { header: "bg-bad-soft", heading: "text-bad" },
} as const;

const LOOKS = {
  holds: { className: "bg-good-soft text-good", icon: <CheckIcon />, word: "Holds:" },
  fails: { className: "bg-bad-soft text-bad", icon: <CloseIcon />, word: "Does not hold:" },
  open: { className: "bg-sunken text-muted", icon: null, word: "Not shown here:" },
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
          {result === "open" ? " (not shown here)" : ""}
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
