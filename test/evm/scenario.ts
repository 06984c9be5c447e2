/** A token on a test chain, driven action by action, with what its records must be kept beside. */
import type { Address } from "../../src/evm/contract/fact.ts";
import { zeroAddress } from "../../src/evm/contract/fact.ts";
import type { TransferRecord } from "../../src/evm/movements/transfers.ts";
import type { Anvil, Deployed } from "./anvil.ts";
import type { Leg } from "./shapes.ts";

/** A record as a test expects it: wallets by name. */
export type Expected = {
  readonly method: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
  readonly fromGroup: number | null;
  readonly toGroup: number | null;
  readonly schedule: number | null;
};

export type Scenario = {
  readonly expected: readonly Expected[];
  /** Address of a named wallet. */
  at(name: string): Address;
  /** Gives a contract a name. */
  name(name: string, contract: Deployed): void;
  /** What the group of a wallet is from now on. */
  group(name: string, group: number): void;
  /** Expects the legs of one action, with the groups as they are now. */
  expect(
    method: string,
    legs: readonly Leg[],
    schedule?: (index: number, count: number) => number | null,
  ): void;
  /** Records in the form of expectations. */
  plain(records: readonly TransferRecord[]): readonly Expected[];
};

/** Wallets `A` to `J` are the chain's accounts; `T` is the token. */
export const scenario = (chain: Anvil, token: Deployed, hasGroups: boolean): Scenario => {
  const addresses = new Map<string, Address>([
    ["0", zeroAddress],
    ["T", token.address],
    ...Array.from("ABCDEFGHIJ", (letter, i): [string, Address] => [letter, chain.wallet(i)]),
  ]);
  const groups = new Map<string, number>();
  const expected: Expected[] = [];
  const groupOf = (name: string) => (hasGroups && name !== "0" ? (groups.get(name) ?? 0) : null);
  return {
    expected,
    at: (name) => {
      const address = addresses.get(name);
      if (address === undefined) throw new Error(`no address is called ${name}`);
      return address;
    },
    name: (name, { address }) => void addresses.set(name, address),
    group: (name, group) => void groups.set(name, group),
    expect: (method, legs, schedule = () => null) => {
      legs.forEach(([from, to, amount], index) => {
        expected.push({
          method,
          from,
          to,
          amount,
          fromGroup: groupOf(from),
          toGroup: groupOf(to),
          schedule: schedule(index, legs.length),
        });
      });
    },
    plain: (records) => {
      const names = new Map([...addresses].map(([name, address]) => [address, name]));
      const number = (value: bigint | null | undefined) => (value == null ? null : Number(value));
      return records.map((record) => ({
        method: record.methodName,
        from: names.get(record.from) ?? record.from,
        to: names.get(record.to) ?? record.to,
        amount: Number(record.amount),
        fromGroup: number(record.fromGroup),
        toGroup: number(record.toGroup),
        schedule: number(record.vesting?.scheduleId),
      }));
    },
  };
};
