import { z } from "zod";
import { readJsonFile } from "../../settings/json-file.ts";
import { type Committee, committeeOf } from "./committee.ts";
import { CommitteeError } from "./proof-errors.ts";

const wholeNumber = z
  .union([z.int().min(0), z.string().regex(/^\d{1,18}$/, "must be a whole number")])
  .transform(BigInt);

/** 96 bytes as base64 or hex, `0x` optional. */
const publicKey = z
  .string()
  .regex(
    /^(?:[A-Za-z0-9+/]{128}|(?:0x)?[0-9a-fA-F]{192})$/,
    "must be a BLS key: 96 bytes as base64 or hex",
  )
  .transform((text) =>
    text.length === 128
      ? Buffer.from(text, "base64")
      : Buffer.from(text.slice(text.length - 192), "hex"),
  );

const committee = z.object({
  epoch: wholeNumber,
  members: z.array(z.object({ publicKey, stake: wholeNumber })).min(1),
});

/** A committee, or a file with one among other members, such as a demo's `ledger.json`. */
const committeeFile = z.union([
  z.object({ committee }).transform((file) => file.committee),
  committee,
]);

/**
 * Parses a committee file: `{ "epoch": 0, "members": [{ "publicKey": …, "stake": … }] }`.
 * @param name for errors
 * @throws CommitteeError (stop) naming the place in the file
 */
export const readCommitteeFile = (name: string, text: string): Committee => {
  const { content, faults } = readJsonFile(text, committeeFile);
  if (content !== undefined) return committeeOf(content.epoch, content.members);
  throw new CommitteeError(`${name} is not a committee file: ${faults.join("; ")}`);
};
