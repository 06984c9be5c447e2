/** Values as patterns alone, which JSON Schema can express. */
import { z } from "zod";

/** Canonical decimals from 1 to below a limit. */
const positiveBelow = (limit: bigint): string => {
  const most = `${limit - 1n}`;
  const ways = most.length > 1 ? [`[1-9][0-9]{0,${most.length - 2}}`] : [];
  // As long as the largest: equal up to a lower digit.
  for (const [at, digit] of [...most].entries()) {
    const least = at === 0 ? 1 : 0;
    if (Number(digit) <= least) continue;
    const rest = most.length - at - 1;
    const behind = rest === 0 ? "" : `[0-9]{${rest}}`;
    ways.push(`${most.slice(0, at)}[${least}-${Number(digit) - 1}]${behind}`);
  }
  return [...ways, most].join("|");
};

const below = (limit: bigint, description: string) =>
  z
    .string()
    .regex(new RegExp(`^(?:0|${positiveBelow(limit)})$`))
    .meta({ description });

export const number = below(2n ** 63n, "A whole number below 2^63.");
export const positive = z.string().regex(new RegExp(`^(?:${positiveBelow(10n ** 39n)})$`));
export const u64 = below(2n ** 64n, "A whole number below 2^64.");
export const amount = below(2n ** 128n, "A whole number below 2^128.");
export const timeMs = below(8_640_000_000_000_001n, "Milliseconds since 1970.");
export const index = below(1_000_000n, "A place, from 0.");
export const change = z
  .string()
  .regex(new RegExp(`^(?:0|-?(?:${positiveBelow(2n ** 128n)}))$`))
  .meta({ description: "A whole number between -2^128 and 2^128." });
export const decimals = z.int().min(0).max(255).nullable();

export const hash = z.string().regex(/^[0-9a-f]{64}$/);
export const address = z.string().regex(/^0x[0-9a-f]{64}$/);
/** A pattern cannot require exactly 32 bytes. */
export const digest = z
  .string()
  .regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
  .meta({ description: "Base58 of 32 bytes." });
export const publicKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)
  .meta({ description: "Base64 of 32 bytes." });
export const signature = z
  .string()
  .regex(/^[A-Za-z0-9+/]{85}[AQgw]==$/)
  .meta({ description: "Base64 of 64 bytes." });
export const blsKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{128}$/)
  .meta({ description: "Base64 of 96 bytes." });
export const base64 = z
  .string()
  .max(400_000)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?$/);

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,127}";
const STRUCT = `0x[0-9a-f]{64}::${NAME}::${NAME}(?:<[A-Za-z0-9_:,<>]+>)?`;
export const coinType = z
  .string()
  .max(1_024)
  .regex(new RegExp(`^${STRUCT}$`))
  .meta({ description: "The type of a struct; what is between < and > is not looked at here." });
/** A role's type is the granter's choice. */
export const anyType = z
  .string()
  .max(1_024)
  .regex(
    new RegExp(
      `^(?:${STRUCT}|vector<[A-Za-z0-9_:,<>]+>|bool|u8|u16|u32|u64|u128|u256|address|signer)$`,
    ),
  );
export const typeName = z.string().regex(new RegExp(`^${NAME}::${NAME}$`));

export const chainId = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z._:-]{0,99}$/);
export const keyId = z.string().regex(/^[0-9A-Za-z_-]{1,100}$/);
export const moment = z.iso.datetime({ precision: 3 });
const share = z.string().regex(/^[01]\.[0-9]{12}$/);
/** A cap table row's amounts, in member order. */
export const rowAmounts = {
  balance: amount,
  tokens: amount,
  granted: amount,
  unlocked: amount,
  locked: amount,
  share,
};
/** Visible ASCII and spaces, no backtick. */
export const plain = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[ -_a-~]+$/);
