/** Wrong usage of the command line; the message shows the right one. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
