import type { Remedy } from "../../waiting/remedy.ts";

/** `code` of a file error (specification, "File upload validation codes"). */
export const FILE_CODES = [
  "INVALID_REQUEST",
  "INVALID_DATA",
  "SIZE_MISMATCH",
  "FILE_TOO_LARGE",
] as const;

export type FileCode = (typeof FILE_CODES)[number];

/** A fault of a body. Never includes the value, which is personal. */
export type Fault = {
  /** Such as `investor.full_address.city`. */
  readonly member: string;
  /** Continues the member's name: `is missing`. */
  readonly fault: string;
  /** Only for files. */
  readonly code: FileCode | undefined;
};

/** The body is invalid; the message lists every fault. The caller has to correct it. */
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
