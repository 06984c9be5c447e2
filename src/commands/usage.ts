/** The command line was used wrongly; the message says how it goes. Exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
