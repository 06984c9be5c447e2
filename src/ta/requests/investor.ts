/** Schema of whitelist and KYC requests (specification, "Investor object"). */
import { isValidPhoneNumber } from "libphonenumber-js";
import { z } from "zod";
import { canonicalWallet, type TaAsset, WALLET_FORM } from "./asset.ts";
import { investorFile } from "./investor-file.ts";

export type SubmissionRules = {
  readonly ledger: TaAsset["ledger"];
  /** In capitals, followed by 00: means "no tin". */
  readonly platformName: string;
  /** Bytes of one decoded file. */
  readonly maxFileBytes: number;
};

/** Tolerated clock skew of `verifiedAt`. */
const CLOCK_SKEW_MS = 30_000;

/** No verification is older; also excludes years that Postgres lacks. */
const EARLIEST_MS = Date.UTC(1900, 0);

const DATE_TIME = "must be an ISO 8601 date-time with offset, such as 2026-11-20T12:00:00Z";

/** Down to attoseconds. */
const LONGEST_DATE_TIME = 64;

/** Text of bounded length; `submissionCheck` reports missing members. */
const words = (most: number) =>
  z.string("must be text").max(most, {
    error: `must be at most ${most} characters`,
    // Run no pattern on longer text: it may overflow the stack.
    abort: true,
  });

const optionalWords = words(64).regex(/\S/, "must not be empty; leave it out or send null");

const id = words(128)
  .regex(/^[^\p{Cc}]+$/u, "must not hold control characters")
  .describe(
    "Your own name for the investor: a pseudonym. It is not encrypted and comes back in callbacks.",
  );

/** Local part of RFC 5322 without quotes, letters of any script; a domain of at least two labels. */
const EMAIL =
  /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])$/u;

/** RFC 5321, 4.5.3.1.1. */
const LONGEST_LOCAL_PART = 64;

const email = words(254)
  .regex(EMAIL, "must be an e-mail address")
  .refine(
    (text) => text.indexOf("@") <= LONGEST_LOCAL_PART,
    `must be an e-mail address with at most ${LONGEST_LOCAL_PART} characters before the @`,
  );

/** The longest-lived person on record was born in 1875. */
const EARLIEST_DAY = "1875-01-01";

const dob = z
  .string("must be text")
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: "must be a date as YYYY-MM-DD", abort: true })
  .refine((text) => isDay(text), { error: "must be a real date as YYYY-MM-DD", abort: true })
  .refine((text) => text >= EARLIEST_DAY, "must not be before 1875")
  .refine((text) => text < new Date().toISOString().slice(0, 10), "must be in the past")
  .describe("YYYY-MM-DD, in the past and not before 1875.");

const isDay = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};

const countryCode = z
  .string("must be text")
  .refine((text) => countryCodes.has(text), "must be an ISO 3166-1 alpha-2 code in capitals")
  .describe("Assigned ISO 3166-1 alpha-2, in capitals.");

const phone = z
  .string("must be text")
  .regex(/^\+[1-9]\d{1,14}$/, {
    error: "must be a phone number in E.164 form, such as +14155550123",
    abort: true,
  })
  .refine((text) => isValidPhoneNumber(text), "must be a valid phone number")
  .describe("E.164: + and digits.");

const address = z.object(
  { street: words(500), city: words(200), countryCode, postalCode: words(32) },
  "must be an object",
);

/** The zero address is no wallet: tokens sent there are lost. */
const ZERO = /^0x0+$/;

const investor = ({ ledger, platformName, maxFileBytes }: SubmissionRules) => {
  const file = investorFile(maxFileBytes);
  const sentinel = `${platformName.toUpperCase()}00`;
  return z.object(
    {
      id,
      first_name: words(200),
      last_name: words(200),
      email,
      dob,
      full_address: address,
      blockchain_wallet: z
        .string("must be text")
        .max(66, WALLET_FORM[ledger])
        .transform((text, context) => {
          const wallet = canonicalWallet(ledger, text);
          if (wallet !== undefined && !ZERO.test(wallet)) return wallet;
          const message =
            wallet === undefined ? WALLET_FORM[ledger] : "must not be the zero address";
          context.addIssue(message);
          return z.NEVER;
        })
        .describe(
          "Sui: 0x and 1 to 64 hex digits. EVM: 0x and 40, in mixed case with a right checksum.",
        ),
      primary_phone: phone,
      tin: optionalWords
        .transform((tin) => (tin.trim() === sentinel ? null : tin))
        .describe(`Tax number; ${sentinel} means none.`)
        .optional(),
      accreditation: z
        .enum(
          ["accredited", "non_accredited", "pending"],
          "must be accredited, non_accredited or pending",
        )
        .optional(),
      ssn: optionalWords.describe("Of investors in the US.").optional(),
      passportNumber: optionalWords.describe("Of investors elsewhere.").optional(),
      identityDocumentCountry: countryCode.optional(),
      identityDocument: file.optional(),
      proofOfAddress: file.optional(),
    },
    "must be an object",
  );
};

export const submissionSchema = (rules: SubmissionRules) =>
  z.object(
    {
      investor: investor(rules),
      verifiedStatus: z
        .boolean("must be true or false")
        .describe("Whether verification passed; true unless given.")
        .optional(),
      verifiedAt: z
        .string(DATE_TIME)
        .max(LONGEST_DATE_TIME, { error: DATE_TIME, abort: true })
        .pipe(z.iso.datetime({ offset: true, error: DATE_TIME }))
        .refine((text) => Date.parse(text) >= EARLIEST_MS, "must not be before 1900")
        .refine(
          (text) => Date.parse(text) <= Date.now() + CLOCK_SKEW_MS,
          "must not be in the future",
        )
        .describe(
          "When it was completed: date-time with offset, not in the future; now unless given.",
        )
        .optional(),
    },
    "must be a JSON object",
  );

/** The 249 assigned ISO 3166-1 alpha-2 codes, from the ISO Online Browsing Platform. */
const ASSIGNED = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ
BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ
DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY
HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY
MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA
RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ
TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ
VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`;

export const countryCodes: ReadonlySet<string> = new Set(ASSIGNED.trim().split(/\s+/));
