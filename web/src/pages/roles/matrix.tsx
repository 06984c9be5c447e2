/** Who may do what: a row for each person, a column for each right. On a narrow screen, each person with its rights. */
import { Line, Lines } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { RIGHTS, roleName } from "../../register/words.ts";
import { dayText, fromSeconds, momentText } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

export type HeldRole = {
  readonly role: string;
  /** 0 for a role of another package. */
  readonly bit: number;
  /** When it was granted last by the time in view, unix seconds; undefined if unknown. */
  readonly since: string | undefined;
};

export type Person = { readonly owner: string; readonly held: readonly HeldRole[] };

export const RightsMatrix = ({ people }: { readonly people: readonly Person[] }) => (
  <>
    <div className="max-lg:hidden">
      <DataTable label="Administrators" columns={MATRIX} rows={people} keyOf={ownerOf} />
    </div>
    <div className="lg:hidden">
      <RoleLines people={people} />
    </div>
  </>
);

/** Every role by its name, since when: for phones, and for roles without a column. */
export const RoleLines = ({ people }: { readonly people: readonly Person[] }) => (
  <Lines>
    {people.map(({ owner, held }) => (
      <Line key={owner} name={<WalletName address={owner} />}>
        <ul className="w-full space-y-0.5 text-xs">
          {held.map(({ role, bit, since }) => (
            <li key={role} title={role}>
              {roleName(role, bit)} <Since since={since} />
            </li>
          ))}
        </ul>
      </Line>
    ))}
  </Lines>
);

const Since = ({ since }: { readonly since: string | undefined }) =>
  since === undefined ? null : (
    <span className="text-muted">
      since <Moment at={fromSeconds(since)} brief />
    </span>
  );

const ownerOf = ({ owner }: Person): string => owner;

const MATRIX: readonly Column<Person>[] = [
  {
    header: "Wallet",
    // The label is below the address, as the rights need the width; its room is kept while it loads.
    cell: ({ owner }) => (
      <span className="inline-flex min-h-11 min-w-52 items-center [&>span]:flex-col [&>span]:gap-0">
        <WalletName address={owner} />
      </span>
    ),
  },
  ...RIGHTS.map(
    ({ bit, allows }): Column<Person> => ({
      header: allows,
      cell: ({ held }) => {
        const found = held.find((one) => one.bit === bit);
        return (
          found && (
            <span className="text-xs" title={found.role}>
              <span className="font-medium text-good">held</span>{" "}
              {found.since === undefined ? null : (
                <span className="text-muted" title={momentText(fromSeconds(found.since))}>
                  since {dayText(fromSeconds(found.since))}
                </span>
              )}
            </span>
          )
        );
      },
    }),
  ),
];
