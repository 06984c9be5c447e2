import type { Remedy } from "../../waiting/remedy.ts";

/** The node's lists end before the range. They grow; wait. */
export class ListsBehindError extends Error {
  override readonly name = "ListsBehindError";
  readonly remedy: Remedy = "wait";

  constructor(node: string, upTo: bigint, last: bigint) {
    super(`${node}: its lists reach checkpoint ${upTo}, not yet ${last}`);
  }
}

/** The node knows no such package. Stop; the address or the network is wrong. */
export class PackageUnknownError extends Error {
  override readonly name = "PackageUnknownError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, address: string) {
    super(
      `${node} knows no package ${address}: check SECURITY_TOKEN_PACKAGES, and that the node is of the right network`,
    );
  }
}
