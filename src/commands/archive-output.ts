/** What the commands of archives share: their progress and how they print. */
import { Option } from "commander";
import { progressTerminal, redrawnLine } from "./progress-line.ts";
import { progressOf } from "./replay-group.ts";
import type { Runtime } from "./runtime.ts";

const LOG_EVERY_MS = 10_000;

/** Progress on a terminal, else in the log. */
export const progress = ({ config, logger }: Runtime, doing: string) => {
  const terminal = progressTerminal(config);
  const line = redrawnLine(terminal);
  let size = "";
  const shown = progressOf((text) => line.draw(`${text}${size}`), doing);
  let loggedMs = performance.now();
  const onProgress = (next: bigint, of: bigint, bytes?: number) => {
    if (bytes !== undefined) size = ` · ${megabytes(bytes)}`;
    shown({ pipeline: "the log", next, of });
    if (terminal !== undefined || performance.now() - loggedMs < LOG_EVERY_MS) return;
    loggedMs = performance.now();
    logger.info({ next: `${next}`, of: `${of}`, bytes }, `${doing} the log`);
  };
  return { onProgress, line };
};

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

export const jsonOption = () => new Option("--json", "print one JSON document instead of text");
