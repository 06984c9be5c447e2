import { InvalidArgumentError, Option } from "commander";
import { strictBase64 } from "../../client/ed25519.ts";
import { canonicalAddress, MoveTypeError } from "../values/move-type.ts";

/** @param must ends the sentence of the refusal */
export const textArgument = (pattern: RegExp, must: string) => (text: string) => {
  if (pattern.test(text)) return text;
  throw new InvalidArgumentError(`It must be ${must}.`);
};

/** A number of digits that match, as a bigint. */
export const bigintArgument = (pattern: RegExp, must: string) => {
  const digits = textArgument(pattern, must);
  return (text: string): bigint => BigInt(digits(text));
};

export const checkpointArgument = bigintArgument(
  /^\d{1,18}$/,
  "a checkpoint number, such as 0 or 184220931",
);

export const urlArgument =
  (example: string) =>
  (text: string): URL => {
    const url = URL.parse(text);
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    throw new InvalidArgumentError(`It must be a URL, such as ${example}.`);
  };

/** Makes a value of the Sui ledger canonical. */
export const moveArgument =
  (canonical: (text: string) => string) =>
  (text: string): string => {
    try {
      return canonical(text);
    } catch (error) {
      if (error instanceof MoveTypeError) throw new InvalidArgumentError(`It is ${error.message}`);
      throw error;
    }
  };

export const addressArgument = moveArgument(canonicalAddress);

/** A reason, which is kept for ever. */
export const reasonArgument = (text: string): string => {
  const reason = text.trim();
  if (reason !== "" && reason.length <= 500) return reason;
  throw new InvalidArgumentError("It must have 1 to 500 characters.");
};

/** Who does something that is kept for ever. */
export const byOption = (about: string) =>
  new Option("--by <name>", about).argParser(
    textArgument(/^(?=.*\S)[^\p{Cc}\p{Cs}]{1,200}$/u, "one line of 1 to 200 characters"),
  );

/** A whole number; both bounds included. */
export const wholeNumberArgument = (least: number, most: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  }
  return value;
};

export const ratioArgument = (most: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > most) {
    throw new InvalidArgumentError(`It must be a number from 0 to ${most}, such as 0.5.`);
  }
  return value;
};

/** Known names, separated by commas, none twice. */
export const namesArgument = (known: readonly string[]) => (text: string) => {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !known.includes(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`"${wrong}" is not one of ${known.join(", ")}.`);
  }
  return [...new Set(names)];
};

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Longest time of retries: a day. */
const LONGEST_RETRY_MS = 24 * 3_600_000;

/** A duration such as `90s`, `10m` or `1h`, at most a day, in milliseconds. */
const durationArgument = (text: string): number => {
  const [, count = "", unit = "s"] = /^(\d{1,6})([smh])?$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? 0);
  if (count === "" || ms > LONGEST_RETRY_MS) {
    throw new InvalidArgumentError("It must be a time from 0 to 24h, such as 90s, 10m or 1h.");
  }
  return ms;
};

export const RETRY_FOR_MS = 600_000;

export const retryForOption = () =>
  new Option(
    "--retry-for <time>",
    "how long to retry a source that fails or gives wrong data, such as 90s, 10m or 1h; 0 for never",
  )
    .argParser(durationArgument)
    .default(RETRY_FOR_MS, "10m");

export const keyArgument = (text: string): string => {
  if (strictBase64(text)?.length !== 32) {
    throw new InvalidArgumentError("It must be base64 of 32 bytes.");
  }
  return text;
};
