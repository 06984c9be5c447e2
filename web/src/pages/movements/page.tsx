/** Movements: every issue, burn and transfer of a token, or every change of one wallet's balance. */
import { useSearch } from "@tanstack/react-router";
import { OfToken } from "../../blocks/answered.tsx";
import { PageHead } from "../../blocks/blocks.tsx";
import { Choose } from "../../controls/controls.tsx";
import { type Token, tokenName, useChangeAddress } from "../../data/tokens.ts";
import { MOVEMENTS } from "../../register/words.ts";
import { AllMovements } from "./all.tsx";
import { DayField, dayRange } from "./days.tsx";
import { WalletChanges } from "./wallet-changes.tsx";
import { WalletField } from "./wallet-field.tsx";

const KINDS = [{ value: "all", label: "All movements" }, ...MOVEMENTS] as const;

const ORDERS = [
  { value: "DESC", label: "Newest first" },
  { value: "ASC", label: "Oldest first" },
] as const;

const MovementsPage = () => <OfToken>{(token) => <Movements token={token} />}</OfToken>;

const Movements = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/movements" });
  const change = useChangeAddress();
  const { wallet } = search;
  const kind = MOVEMENTS.find(({ value }) => value === search.kind)?.value ?? "all";
  const order = search.order === "oldest" ? "ASC" : "DESC";
  const days = dayRange(search);
  const about =
    wallet === undefined
      ? `Every issue, burn and transfer of ${tokenName(token)}, between holders`
      : `All changes of one wallet's balance in ${tokenName(token)}, grants included`;
  return (
    <>
      <PageHead title="Movements" about={about} />
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <WalletField key={wallet} wallet={wallet} />
        {wallet === undefined ? (
          <Choose
            label="Type of movement"
            value={kind}
            choices={KINDS}
            onChange={(chosen) => change({ kind: chosen === "all" ? undefined : chosen })}
          />
        ) : null}
        <DayField name="from" label="From, UTC" day={search.from} />
        <DayField name="to" label="To, UTC" day={search.to} />
        <Choose
          label="Order"
          value={order}
          choices={ORDERS}
          onChange={(chosen) => change({ order: chosen === "DESC" ? undefined : "oldest" })}
        />
      </div>
      {wallet === undefined ? (
        <AllMovements
          key={JSON.stringify([token.coinType, order, kind, days])}
          token={token}
          type={kind === "all" ? null : kind}
          order={order}
          days={days}
        />
      ) : (
        <WalletChanges token={token} wallet={wallet} order={order} days={days} />
      )}
    </>
  );
};

export default MovementsPage;
