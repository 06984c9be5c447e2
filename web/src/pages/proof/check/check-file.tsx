/** Drops a statement or an audit pack, and shows the result of checking it in this browser. */
import { useCallback, useEffect, useRef, useState } from "react";
import { Notice } from "../../../blocks/blocks.tsx";
import { Button } from "../../../controls/controls.tsx";
import { PartError } from "../../../data/part.ts";
import { checkFiles } from "./check.ts";
import { type Files, filesOfDrop, filesOfList } from "./dropped.ts";
import { type Report, UncheckableError } from "./report.ts";
import { Result } from "./result.tsx";

type Checking =
  | { readonly state: "idle" }
  | { readonly state: "busy"; readonly done: number; readonly of: number }
  | { readonly state: "done"; readonly report: Report }
  | { readonly state: "unchecked"; readonly why: string };

const IDLE: Checking = { state: "idle" };

export const CheckFile = () => {
  const [checking, setChecking] = useState<Checking>(IDLE);
  const newest = useRef(0);
  const start = useCallback(async (dropped: Promise<Files> | Files) => {
    newest.current += 1;
    const turn = newest.current;
    const show = (now: Checking) => {
      if (turn === newest.current) setChecking(now);
    };
    show({ state: "busy", done: 0, of: 0 });
    try {
      const report = await checkFiles(await dropped, (done, of) => {
        if (done % 50 === 0) show({ state: "busy", done, of });
      });
      show({ state: "done", report });
    } catch (error) {
      show({ state: "unchecked", why: whyNot(error) });
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
        className={`flex flex-wrap items-center justify-between gap-x-6 gap-y-3 rounded-xl print:hidden border-2 border-dashed px-4 py-4 transition-colors ${over ? "border-accent bg-accent-soft" : "border-line bg-surface"}`}
      >
        <div className="min-w-0 text-sm">
          <h2 className="font-semibold">
            {over ? "Drop to check" : "Check a statement or an audit pack"}
          </h2>
          <p className="text-muted">
            Drop it anywhere on this page. It is checked in this browser and not sent anywhere.
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
          <Notice tone="warn" title="Not checked" className="mt-3">
            {checking.why}
          </Notice>
        ) : checking.state === "done" ? (
          <Result report={checking.report} onClose={close} />
        ) : null}
      </div>
    </section>
  );
};

const whyNot = (error: unknown): string =>
  error instanceof UncheckableError || error instanceof PartError
    ? error.message
    : `The file could not be read: ${error instanceof Error ? error.message : String(error)}`;

/** Takes files dropped anywhere on the page. Returns whether files are dragged over it. */
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
    // React does not support this attribute.
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
          // Allows choosing the same file again after a change.
          target.value = "";
        }}
      />
      <Button onClick={() => input.current?.click()}>{label}</Button>
    </>
  );
};
