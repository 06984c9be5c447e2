import type { GuidedProgress } from "../../values/bulk-progress.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { Findings } from "./findings.ts";

/** Progress of discovery, as it is reported. */
export type Report = {
  /** What it does now. */
  step: string;
  readonly fetched: number;
  readonly bytes: number;
  took(raw: RawCheckpoint): void;
  show(): void;
};

export const createReport = (
  { chains, isTracked }: Findings,
  last: bigint,
  onProgress: ((progress: GuidedProgress) => void) | undefined,
): Report => {
  let [fetched, bytes, open] = [0, 0, 0];
  let at: string | null = null;
  return {
    step: "lists",
    get fetched() {
      return fetched;
    },
    get bytes() {
      return bytes;
    },
    took: (raw) => {
      fetched += 1;
      bytes += raw.bytes.byteLength;
      at = `${raw.sequence}`;
    },
    show() {
      if (onProgress === undefined) return;
      // Counted now and then: there may be many.
      if (fetched % 16 === 0) open = [...chains.open].filter(isTracked).length;
      onProgress({
        step: this.step,
        fetched,
        bytes,
        objects: chains.size,
        open,
        at,
        last: `${last}`,
      });
    },
  };
};
