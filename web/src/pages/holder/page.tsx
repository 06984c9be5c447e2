/** One holder, or one wallet that belongs to none: what it holds, since when, and what comes next. */
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { OfToken } from "../../blocks/of-token.tsx";
import { WhenInAddress } from "../../blocks/when-in-address.tsx";
import { Button } from "../../controls/button.tsx";
import { useTokenSearch } from "../../data/here.ts";
import { useService } from "../../data/service.tsx";
import { type Token, tokenLabel } from "../../data/tokens.ts";
import type { Register, Row, Wallet } from "../../register/register.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { useRow } from "../../register/use-register.ts";
import { countText, shareText } from "../../shown/amount.ts";
import { LongId, shortened } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { Ago, Moment } from "../../shown/shown.tsx";
import { BalanceOverTime } from "./balance.tsx";
import { Events } from "./events.tsx";
import { Grants } from "./grants.tsx";
import { StatementDownload } from "./statement.tsx";

const HolderPage = () => <OfToken>{(token) => <Holder token={token} />}</OfToken>;

/** An address as the register writes it, however it was typed: lower case, all 64 digits. */
const canonical = (holder: string): string =>
  /^0x[0-9a-f]{1,64}$/i.test(holder)
    ? `0x${holder.slice(2).toLowerCase().padStart(64, "0")}`
    : holder;

const Holder = ({ token }: { readonly token: Token }) => {
  const { holder: asked } = useParams({ from: "/holder/$holder" });
  const holder = canonical(asked);
  const { at } = useSearch({ from: "/holder/$holder" });
  const register = useRow(token.coinType, at, holder);
  const { from, to } = useTokenTime(token.coinType);
  const { lost } = useService();
  const isWallet = holder.startsWith("0x");
  const row = register.data?.rows[0];
  const addresses = useMemo(
    () => row?.wallets.map(({ address }) => address) ?? (isWallet ? [holder] : []),
    [row, isWallet, holder],
  );
  const title = isWallet
    ? row?.holderId != null
      ? `Holder ${row.holderId}`
      : `Wallet ${shortened(holder)}`
    : `Holder ${holder}`;
  const timeMs = register.data?.timeMs ?? to * 1_000;
  const untilMs = at === undefined ? undefined : timeMs;
  return (
    <>
      <PageHead
        title={title}
        about={
          <>
            in {token.name ?? tokenLabel(token)}
            {at === undefined ? (lost || register.data?.isLong ? "" : ", now") : ", at "}
            {at === undefined ? null : <Moment ms={Number(at) * 1_000} />}
          </>
        }
      >
        {register.data?.isLong && at === undefined ? (
          <span className="inline-flex items-center gap-2 text-xs text-muted">
            <span>
              Balance as of <Ago ms={register.data.timeMs} />
            </span>
            <Button disabled={register.isFetching} onClick={() => void register.refetch()}>
              {register.isFetching ? "Reading…" : "Read again"}
            </Button>
          </span>
        ) : null}
        {row === undefined || register.data == null ? null : (
          <StatementDownload register={register.data} row={row} />
        )}
      </PageHead>
      <div className="mb-4">
        <WhenInAddress
          name="at"
          label="At"
          at={at === undefined ? undefined : Number(at)}
          from={from}
          to={to}
        />
      </div>
      <Answered of={register} what="The register" lines={8} card>
        {(found) => (
          <div className="space-y-4">
            {row === undefined || found === null ? (
              <Card>
                <Empty title={`${title} held none of this token then`}>
                  {isWallet
                    ? "What it ever held is below."
                    : "A holder's number is of one token: choose another token, or another time."}
                </Empty>
              </Card>
            ) : (
              <Held register={found} row={row} />
            )}
            {addresses.length === 0 ? null : (
              <>
                <BalanceOverTime token={token} addresses={addresses} untilMs={untilMs} />
                <Grants token={token} addresses={addresses} at={at} timeMs={timeMs} />
                <Events
                  token={token}
                  holderId={row?.holderId ?? null}
                  addresses={addresses}
                  untilMs={untilMs}
                />
              </>
            )}
          </div>
        )}
      </Answered>
    </>
  );
};

const Held = ({ register, row }: { readonly register: Register; readonly row: Row }) => {
  const { decimals, issued, holderCount } = register;
  const frozen = row.wallets.filter(({ isFrozen }) => isFrozen).length;
  const amount = (label: string, units: bigint, about: ReactNode) => (
    <Figure label={label} value={<Amount units={units} decimals={decimals} />} about={about} />
  );
  return (
    <>
      <Figures>
        {amount(
          "Balance",
          row.balance,
          `${shareText(row.balance, issued)} of what is issued, one of ${countText(holderCount)} in the register`,
        )}
        {amount("Tokens", row.tokens, "free to be transferred, unless frozen")}
        {amount("Unlocked in grants", row.unlocked, "can be claimed")}
        {amount("Locked in grants", row.locked, "cannot be claimed yet")}
      </Figures>
      <Card
        flush
        title={row.wallets.length === 1 ? "One wallet" : `${row.wallets.length} wallets`}
        about={
          row.holderId === null
            ? "This wallet belongs to no holder of the register"
            : frozen > 0
              ? `${frozen} of them frozen`
              : undefined
        }
      >
        <Wallets register={register} row={row} />
      </Card>
    </>
  );
};

const Wallets = ({ register, row }: { readonly register: Register; readonly row: Row }) => {
  const kept = useTokenSearch();
  return (
    <DataTable
      label="Wallets"
      rows={row.wallets}
      keyOf={({ address }) => address}
      columns={[
        {
          id: "address",
          header: "Wallet",
          cell: ({ address }) => (
            <LongId text={address} what="address" explorer="account">
              <Link
                to="/movements"
                search={{ ...kept, wallet: address }}
                className="hover:underline"
              >
                {shortened(address)}
              </Link>
            </LongId>
          ),
        },
        {
          id: "state",
          header: "State",
          cell: ({ isFrozen }) =>
            isFrozen ? <Badge tone="bad">frozen</Badge> : <span className="text-muted">free</span>,
        },
        {
          id: "group",
          header: "Transfer group",
          wideOnly: true,
          cell: ({ groupId }) => groupId ?? <span className="text-muted">none</span>,
        },
        amountColumn(register.decimals, ({ balance }: Wallet) => balance, {
          id: "balance",
          header: "Balance",
        }),
      ]}
    />
  );
};

export default HolderPage;
