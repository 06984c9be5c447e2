/** Names for the numbers and addresses of the company's registers, as its operator would give them. */
import type { Keyring } from "../chain/keyring.ts";
import { staffOf } from "../issuer/people.ts";
import { CAST } from "./cast.ts";
import { COMMON, OPTIONS, PREFERRED } from "./tokens.ts";

/** As a label of the service: of a holder by coin type and number, of a wallet by address, of a treasury. */
export type DemoLabel = {
  readonly kind: "HOLDER" | "WALLET" | "TREASURY";
  /** Empty for a wallet. */
  readonly coinType: string;
  /** Empty for a treasury. */
  readonly subject: string;
  readonly text: string;
};

type Coin = { readonly coinType: string; readonly symbol: string };

/** Labels of all holders that a register may have, of the company's staff, and of its treasuries. */
export const companyLabels = (coins: readonly Coin[], keyring: Keyring): readonly DemoLabel[] => {
  const staff = staffOf(keyring, COMMON);
  const wallet = (subject: string, text: string): DemoLabel => {
    return { kind: "WALLET", coinType: "", subject, text };
  };
  return [
    ...coins.flatMap(({ coinType, symbol }): readonly DemoLabel[] => [
      { kind: "TREASURY", coinType, subject: "", text: "Acme Robotics treasury contract" },
      { kind: "HOLDER", coinType, subject: "0", text: "Acme Robotics (treasury and option pool)" },
      ...CAST.filter((person) => {
        if (symbol === OPTIONS) return person.options !== undefined;
        const isInvestor = person.kind === "fund" || person.kind === "angel";
        return symbol === PREFERRED ? isInvestor || person.seed !== undefined : true;
      }).map(({ holderId, name }): DemoLabel => {
        return { kind: "HOLDER", coinType, subject: `${holderId}`, text: name };
      }),
      wallet(staffOf(keyring, symbol).registrar, `Fjordgate Transfer Agents, ${symbol}`),
    ]),
    wallet(staff.admin, "Astrid Holm, company secretary"),
    wallet(staff.reserve, "Viktor Lang, finance director"),
    wallet(staff.officer, "Nadia Farouk, general counsel"),
    wallet(keyring.account("company/finance-2"), "Emil Brandt, incoming finance director"),
    wallet(keyring.account("company/deputy"), "Ruth Amsel, registrar's deputy"),
    wallet(keyring.account("company/counsel"), "Outside counsel for the dispute"),
    wallet(keyring.account("company/marketplace"), "Harbour Exchange, settlement"),
  ];
};
