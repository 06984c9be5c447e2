/** A line of `acts.ndjson`: what an operator did by a command. */
export type ActLine = {
  /** From 1, decimal; those between are acts on other coins or projects. */
  readonly number: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  /** As it was typed, without its arguments. */
  readonly command: string;
  /** What was asked for: ids and names. */
  readonly details: { readonly [name: string]: string | boolean | null };
  /** Account and host of the operating system, and role of the database. */
  readonly by: { readonly user: string; readonly host: string; readonly role: string };
  readonly scope: "deployment" | "coin";
  /** The coin that the act is on; null for the whole deployment. */
  readonly coinType: string | null;
  /** Hex of 16 random bytes. */
  readonly salt: string;
  /** Number of the entry of the deployment's sequence that has its hash; null while there was none. */
  readonly entry: string | null;
};

/** SHA-256, hex, as the act's entry in the sequence has it: over the RFC 8785 JSON of all members but `entry`. */
export declare const actHash: (
  act: Omit<ActLine, "scope"> & { readonly scope: string },
) => Promise<string>;
