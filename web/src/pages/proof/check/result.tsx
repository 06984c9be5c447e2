/** The result of checking a file. */
import { Fact, Facts, Mark, type Tone } from "../../../blocks/blocks.tsx";
import { Button } from "../../../controls/controls.tsx";
import { LongId } from "../../../shown/copied.tsx";
import { Amount } from "../../../shown/fitted.tsx";
import { CloseIcon, PrintIcon } from "../../../shown/icons.tsx";
import { Heading, KeyCompared, RootCompared } from "./compared.tsx";
import { type Entry, type Report, type Step, toneOf } from "./report.ts";
import { RootCode } from "./root-code.tsx";

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
      className="upright mt-3 overflow-hidden rounded-xl border border-line bg-surface print:rounded-none print:border-0"
    >
      <header className={`flex items-start justify-between gap-3 px-4 py-3 ${header}`}>
        <div className="min-w-0">
          <h3 className={`font-semibold ${heading}`}>
            {tone !== "bad"
              ? report.verdict
              : `This ${report.kind} is not valid: do not rely on it`}
          </h3>
          <p className="text-sm break-words">{report.title}</p>
        </div>
        <span className="flex shrink-0 gap-1">
          <Button look="quiet" className="px-2" onClick={() => window.print()}>
            <PrintIcon />
            Print
          </Button>
          <Button look="quiet" className="px-2" aria-label="Close the result" onClick={onClose}>
            <CloseIcon />
          </Button>
        </span>
      </header>
      <div className="grid grid-cols-1 gap-x-8 gap-y-5 p-4 lg:grid-cols-2">
        <div className="min-w-0">
          <Heading>Checks</Heading>
          <ol className="space-y-2.5">
            {report.steps.map((step) => (
              <StepLine key={step.title} step={step} />
            ))}
          </ol>
          <Heading className="mt-5">Signing key</Heading>
          <KeyCompared publicKey={report.publicKey} />
          {report.root === null ? null : (
            <>
              <RootCompared key={report.root.root} {...report.root} />
              <div className="mt-5">
                <RootCode root={report.root.root} />
              </div>
            </>
          )}
        </div>
        <div className="min-w-0">
          {report.contents.length === 0 ? null : (
            <>
              <Heading>{tone === "bad" ? "Claimed contents" : "Contents"}</Heading>
              <Facts>
                {report.contents.map((entry, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change, and wallets share a name
                  <EntryLine key={index} entry={entry} />
                ))}
              </Facts>
            </>
          )}
          <Heading className={report.contents.length === 0 ? "" : "mt-5"}>Not checked</Heading>
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

const RESULTS: Readonly<
  Record<Step["result"], { readonly tone: Tone; readonly word: string; readonly note: string }>
> = {
  holds: { tone: "good", word: "Valid:", note: "" },
  fails: { tone: "bad", word: "Not valid:", note: "" },
  open: { tone: "plain", word: "Not proven here:", note: " (not proven here)" },
  skipped: { tone: "plain", word: "Not checked:", note: " (not checked)" },
};

const StepLine = ({ step: { title, result, details } }: { readonly step: Step }) => {
  const { tone, word, note } = RESULTS[result];
  return (
    <li className="flex gap-3 text-sm">
      <Mark tone={tone} />
      <div className="min-w-0">
        <div className={result === "skipped" ? "text-muted" : "font-medium"}>
          <span className="sr-only">{word} </span>
          {title}
          {note}
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

const EntryLine = ({ entry }: { readonly entry: Entry }) => (
  <Fact name={entry.name}>
    {"units" in entry ? (
      <Amount units={entry.units} decimals={entry.decimals} />
    ) : "id" in entry ? (
      <>
        <span className="print:hidden">
          <LongId text={entry.id} what={entry.name.toLowerCase()} head={12} tail={8} />
        </span>
        <span className="hidden font-mono text-xs break-all print:inline">{entry.id}</span>
      </>
    ) : (
      entry.text
    )}
  </Fact>
);
