import type { Remedy } from "../../waiting/remedy.ts";

/** The register cannot be written as Open Cap Format; nothing was written. The message says why. Stop. */
export class OcfError extends Error {
  override readonly name = "OcfError";
  readonly remedy: Remedy = "stop";
}

/** @throws OcfError (stop) always: what was made is not a package */
export const refuse = (why: string): never => {
  throw new OcfError(`not Open Cap Format: ${why}`);
};
