/** Investors to submit. */
import type { JsonValue } from "../../client/index.ts";
import type { Investor, Submission } from "../../src/ta/pii/submission.ts";

export const WALLET = `0x${"ab".repeat(32)}`;

/** A submission as validation leaves it. */
export const submission = (changes: Partial<Investor> = {}): Submission => ({
  investor: {
    id: "inv-1",
    first_name: "Grete",
    last_name: "Muster",
    email: "grete@example.org",
    dob: "1985-03-04",
    full_address: { street: "Ring 1", city: "Vienna", countryCode: "AT", postalCode: "1010" },
    blockchain_wallet: WALLET,
    primary_phone: "+436701234567",
    tin: null,
    accreditation: null,
    ssn: null,
    passportNumber: null,
    identityDocumentCountry: null,
    identityDocument: null,
    proofOfAddress: null,
    ...changes,
  },
  verifiedStatus: true,
  verifiedAt: "2026-01-02T03:04:05.000Z",
});

/** A body as a caller sends it: every required member, changed by `changes`. */
export const bodyOf = (
  changes: Readonly<Record<string, JsonValue>> = {},
  others: Readonly<Record<string, JsonValue>> = {},
): {
  readonly investor: { readonly [key: string]: JsonValue };
  readonly [key: string]: JsonValue;
} => ({
  investor: {
    id: "inv-1",
    first_name: "Grete",
    last_name: "Muster",
    email: "grete@example.org",
    dob: "1985-03-04",
    full_address: { street: "Ring 1", city: "Vienna", countryCode: "AT", postalCode: "1010" },
    blockchain_wallet: WALLET,
    primary_phone: "+436701234567",
    ...changes,
  },
  ...others,
});
