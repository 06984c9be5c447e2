/** Three figures with their trends: issued, holders, moved. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Answer, AsOf } from "../../blocks/answered.tsx";
import { FIGURE_LINK, Figure } from "../../blocks/blocks.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import { keepTokenWith, type Token } from "../../data/tokens.ts";
import { useExceptions } from "../../register/register.ts";
import { type Series, useHolderCounts, useSupply } from "../../register/series.ts";
import { amountText, countText, mostOf, proportion } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { dayText } from "../../shown/moment.ts";
import type { Sums } from "./since.ts";

const DAY = 86_400;
/** Days of a trend. */
const DAYS = 30;

export const Trends = ({
  token,
  to,
  moved,
}: {
  readonly token: Token;
  /** The newest time, unix seconds. */
  readonly to: number;
  readonly moved: Answer<Sums>;
}) => {
  const { coinType, decimals, symbol } = token;
  const now = useExceptions(coinType);
  // The moments stay for a visit: past ones never change.
  const [end] = useState(to);
  const range = { from: end - DAYS * DAY, to: end, points: DAYS + 1 };
  const supply = useSupply(coinType, range).data;
  const isShort = now.data?.isLong === false;
  const holders = useHolderCounts(coinType, range, { enabled: isShort }).data;
  const trend = (of: Series | undefined, text: (value: bigint) => string, what: string) => {
    const { times = [], values = [] } = of ?? {};
    const most = mostOf(values);
    const [first = 0n, last = 0n] = [values[0], values.at(-1)];
    return (
      <Sparkline
        values={values.map((value) => proportion(value, most))}
        label={`${what} from ${dayText(times[0] ?? 0)} to ${dayText(times.at(-1) ?? 0)}: from ${text(first)} to ${text(last)}`}
      />
    );
  };
  const link = (show: string, text: string) => (
    <Link to="/cap-table" search={keepTokenWith({ show })} className={FIGURE_LINK}>
      {text}
    </Link>
  );
  const { data } = moved;
  const pending = ({ error }: Pick<Answer<unknown>, "error">) =>
    error === null ? "…" : "not answered";
  return (
    <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
      <Figure
        label={link("history", "Issued")}
        value={
          now.data ? (
            <Amount units={now.data.issued} decimals={decimals} symbol={symbol} />
          ) : (
            pending(now)
          )
        }
        about={
          <>
            {supply === undefined ? null : `${dayText(supply.times[0] ?? end * 1_000)} until now`}
            {trend(supply, (value) => amountText(value, decimals), "Issued")}
          </>
        }
      />
      <Figure
        label={link("history", "Holders")}
        value={now.data ? countText(now.data.holderCount) : pending(now)}
        about={
          <>
            including wallets without a holder
            {trend(holders, countText, "Holders")}
          </>
        }
      />
      <Figure
        label={
          <Link to="/movements" search={keepTokenWith({})} className={FIGURE_LINK}>
            Moved
          </Link>
        }
        value={
          data === undefined ? (
            pending(moved)
          ) : (
            <Amount units={movedOf(data)} decimals={decimals} symbol={symbol} />
          )
        }
        about={
          data === undefined ? undefined : (
            <>
              {data.whole ? "" : "at least "}
              {kindsOf(data).map(({ kind, name, count }, at) => (
                <span key={kind}>
                  {at === 0 ? "" : ", "}
                  <Link
                    to="/movements"
                    search={keepTokenWith({ kind })}
                    className="relative z-10 hover:text-accent hover:underline"
                  >
                    {countText(count)} {name}
                  </Link>
                </span>
              ))}
              <Sparkline
                values={data.over.map((amount) => proportion(amount, mostOf(data.over)))}
                label={`${data.whole ? "Moved since then" : "The newest 5,000 movements"}, in ${data.over.length} equal parts of the time: ${data.over.map((amount) => amountText(amount, decimals)).join(", ")}`}
              />
              <AsOf of={moved} flush />
            </>
          )
        }
      />
    </div>
  );
};

const movedOf = ({ minted, burned, transferred, forced }: Sums): bigint =>
  [minted, burned, transferred, forced].reduce((sum, { amount }) => sum + amount, 0n);

const kindsOf = ({
  minted,
  burned,
  transferred,
  forced,
}: Sums): readonly { readonly kind: string; readonly name: string; readonly count: number }[] => [
  { kind: "mint", name: "issued", count: minted.count },
  { kind: "burn", name: "burned", count: burned.count },
  { kind: "transfer", name: "transferred", count: transferred.count },
  { kind: "force_transfer", name: "by an administrator", count: forced.count },
];
