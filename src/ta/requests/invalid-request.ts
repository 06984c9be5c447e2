import type { Remedy } from "../../waiting/remedy.ts";

/** `code` of a file error (specification, "File upload validation codes"). */
export const FILE_CODES = [
  "INVALID_REQUEST",
  "INVALID_DATA",
  "SIZE_MISMATCH",
  "FILE_TOO_LARGE",
] as const;

export type FileCode = (typeof FILE_CODES)[number];

export type FaultCode = FileCode | "MISSING_MEMBER" | "INVALID_MEMBER";

/** A fault of a body. Never includes the value, which is personal. */
export type Fault = {
  /** Such as `investor.full_address.city`. */
  readonly member: string;
  /** Continues the member's name: `is missing`. */
  readonly fault: string;
  readonly code: FaultCode;
};

/** The body is invalid; the message lists every fault. The caller has to correct it. */
export class InvalidRequestError extends Error {
  override readonly name = "InvalidRequestError";
  readonly remedy: Remedy = "stop";
  /** 413 when a file is too large, else 400. */
  readonly statusCode: 400 | 413;
  /** Of the worst fault: of a file too large, of another file, or the first. */
  readonly code: FaultCode;
  /** The member of that fault; undefined for the whole body. */
  readonly param: string | undefined;

  constructor(faults: readonly Fault[]) {
    super(faults.map(({ member, fault }) => `${member} ${fault}`).join("; "));
    const worst =
      faults.find(({ code }) => code === "FILE_TOO_LARGE") ??
      faults.find(({ code }) => isFileCode(code)) ??
      faults[0];
    this.code = worst?.code ?? "INVALID_MEMBER";
    this.param = worst?.member;
    this.statusCode = this.code === "FILE_TOO_LARGE" ? 413 : 400;
  }
}

const isFileCode = (code: FaultCode): code is FileCode => FILE_CODES.some((each) => each === code);
