import type { Remedy } from "../../waiting/remedy.ts";

/** The additional member `code` of an error about a file (specification, "File upload validation codes"). */
export type FileCode = "INVALID_REQUEST" | "INVALID_DATA" | "SIZE_MISMATCH" | "FILE_TOO_LARGE";

/** One fault of a body: the member and what is wrong. Never the value, which is personal. */
export type Fault = {
  /** Such as `investor.full_address.city`. */
  readonly member: string;
  /** Reads on after the member: `is missing`. */
  readonly fault: string;
  /** For files. */
  readonly code: FileCode | undefined;
};

/** A body is at fault; the message names every fault. Stop: the caller has to correct it. */
export class InvalidRequestError extends Error {
  override readonly name = "InvalidRequestError";
  readonly remedy: Remedy = "stop";
  /** 413 when a file is too large, else 400. */
  readonly statusCode: 400 | 413;
  readonly code: FileCode | undefined;

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ member, fault }) => `${member} ${fault}`).join("; "));
    const codes = faults.flatMap(({ code }) => code ?? []);
    const tooLarge = codes.includes("FILE_TOO_LARGE");
    this.statusCode = tooLarge ? 413 : 400;
    this.code = tooLarge ? "FILE_TOO_LARGE" : codes[0];
  }
}
