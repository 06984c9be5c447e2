import type { Remedy } from "../waiting/remedy.ts";

/**
 * One or more settings are wrong; the message has a line for each. Correct them and start again:
 * the program ends with code 2.
 */
export class ConfigError extends Error {
  override readonly name: string = "ConfigError";
  readonly remedy: Remedy = "stop";
}
