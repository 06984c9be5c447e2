/** Values given on the command line, checked. */
import { InvalidArgumentError } from "commander";
import { strictBase64 } from "../../client/ed25519.mjs";

/** A checkpoint number. */
export const checkpointArgument = (text: string): bigint => {
  if (!/^\d{1,18}$/.test(text)) {
    throw new InvalidArgumentError("It must be a checkpoint number, such as 0 or 184220931.");
  }
  return BigInt(text);
};

/** A whole number within bounds, both included. */
export const wholeNumberArgument = (least: number, most: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  }
  return value;
};

/** How many of one thing there are for each of another, 0 to `most`. */
export const ratioArgument = (most: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > most) {
    throw new InvalidArgumentError(`It must be a number from 0 to ${most}, such as 0.5.`);
  }
  return value;
};

/** Names separated by commas, all of them known, none twice. */
export const namesArgument = (known: readonly string[]) => (text: string) => {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => !known.includes(name));
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`"${wrong}" is not one of ${known.join(", ")}.`);
  }
  return [...new Set(names)];
};

/** A public key of a deployment. */
export const keyArgument = (text: string): string => {
  if (strictBase64(text)?.length !== 32) {
    throw new InvalidArgumentError("It must be base64 of 32 bytes.");
  }
  return text;
};
