/** A checked submission in canonical form. All of it is personal data. */

/** `data` is base64 of exactly `size` bytes. */
type InvestorFile = {
  readonly fileName: string;
  readonly contentType: string;
  readonly size: number;
  readonly data: string;
};

/** The specification's investor object; absent members, null and sentinels are null. */
export type Investor = {
  readonly id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  /** `YYYY-MM-DD`. */
  readonly dob: string;
  readonly full_address: {
    readonly street: string;
    readonly city: string;
    readonly countryCode: string;
    readonly postalCode: string;
  };
  /** Canonical for the asset's ledger. */
  readonly blockchain_wallet: string;
  /** E.164. */
  readonly primary_phone: string;
  readonly tin: string | null;
  readonly accreditation: "accredited" | "non_accredited" | "pending" | null;
  readonly ssn: string | null;
  readonly passportNumber: string | null;
  readonly identityDocumentCountry: string | null;
  readonly identityDocument: InvestorFile | null;
  readonly proofOfAddress: InvestorFile | null;
};

export type Submission = {
  readonly investor: Investor;
  readonly verifiedStatus: boolean;
  /** ISO 8601, UTC. */
  readonly verifiedAt: string;
};
