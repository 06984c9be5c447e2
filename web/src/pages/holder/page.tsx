/** One holder, or one wallet without a holder: balance, wallets, movements, grants, events. */
import { useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { Answered, OfToken } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { EditLabel } from "../../blocks/label-editor.tsx";
import { LabelText, WalletName } from "../../blocks/names.tsx";
import { Button, Download } from "../../controls/controls.tsx";
import { When } from "../../controls/when.tsx";
import { pathWith } from "../../data/ask.ts";
import type { Subject } from "../../data/labels.ts";
import { useMomentMs } from "../../data/moment.ts";
import { useService } from "../../data/service.tsx";
import { canonicalWallet, type Token, tokenName, useTokenTime } from "../../data/tokens.ts";
import { type Register, type Row, rowId, useRow, type Wallet } from "../../register/register.ts";
import { countText, shareText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { dayText } from "../../shown/moment.ts";
import { shortened } from "../../shown/shorten.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { Balance } from "./balance.tsx";
import { Events } from "./events.tsx";
import { Grants } from "./grants.tsx";
import { useHistory } from "./history.ts";

const HolderPage = () => <OfToken>{(token) => <Holder token={token} />}</OfToken>;

const Holder = ({ token }: { readonly token: Token }) => {
  const { holder: asked } = useParams({ from: "/holder/$holder" });
  const holder = canonicalWallet(asked);
  const { at } = useSearch({ from: "/holder/$holder" });
  const register = useRow(token.coinType, at, holder);
  const { from, to } = useTokenTime(token.coinType);
  const atMs = useMomentMs(at);
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
  const holderId = isWallet ? (row?.holderId ?? null) : holder;
  const subject: Subject =
    holderId === null ? { kind: "WALLET", address: holder } : { kind: "HOLDER", holderId };
  const timeMs = register.data?.timeMs ?? to * 1_000;
  const untilMs = at === undefined ? undefined : timeMs;
  const history = useHistory(token.coinType, row?.holderId ?? holder, { at, untilMs });
  const since = history.data?.sinceMs;
  return (
    <>
      <PageHead
        title={title}
        checkpoint={register.data?.checkpoint}
        about={
          // Room for the label and the date, which come later.
          <span className="block max-sm:min-h-15 lg:min-h-10">
            <Labelled token={token} of={subject} name={title} /> in {tokenName(token)}
            {at === undefined ? (lost || register.data?.isLong ? "" : ", now") : ", at "}
            {atMs === undefined ? null : <Moment at={atMs} />}
            {since == null ? null : (
              <>
                , a holder since <span className="whitespace-nowrap">{dayText(since)}</span>
              </>
            )}
          </span>
        }
      >
        {register.data?.isLong && at === undefined ? (
          <span className="inline-flex items-center gap-2 text-xs text-muted">
            <span>
              Balance as of <Ago at={register.data.timeMs} />
            </span>
            <Button disabled={register.isFetching} onClick={() => void register.refetch()}>
              {register.isFetching ? "Loading…" : "Refresh"}
            </Button>
          </span>
        ) : null}
        {register.data !== undefined && row === undefined
          ? null
          : STATEMENTS.map(({ format, name, title: about }) => (
              <Download
                key={format}
                title={about}
                path={
                  row === undefined || !register.data
                    ? ""
                    : statementPath(register.data, row, format)
                }
                disabled={row === undefined}
              >
                {name}
              </Download>
            ))}
      </PageHead>
      <div className="mb-4">
        <When name="at" label="At" at={at} from={from} to={to} />
      </div>
      <Answered of={register} what="The register" lines={8} card>
        {(found) => (
          <div className="space-y-4">
            {row === undefined || found === null ? (
              <Card>
                <Empty title={`${title} held none of this token at that time`}>
                  {isWallet
                    ? "Its history is below."
                    : "Holder numbers differ from token to token: choose another token or time."}
                </Empty>
              </Card>
            ) : (
              <Held register={found} row={row} />
            )}
            <Balance token={token} of={history} untilMs={untilMs} />
            {addresses.length === 0 ? null : (
              <Grants token={token} addresses={addresses} at={at} timeMs={timeMs} />
            )}
            <Events coinType={token.coinType} of={holderId ?? holder} at={at} />
          </div>
        )}
      </Answered>
    </>
  );
};

/** The label of what the view shows, and its editor. */
const Labelled = ({
  token: { coinType },
  of,
  name,
}: {
  readonly token: Token;
  readonly of: Subject;
  readonly name: string;
}) => (
  <span className="inline-flex max-w-full items-center gap-1 align-bottom font-medium [&>span]:text-ink">
    <LabelText coinType={coinType} of={of} />
    <EditLabel coinType={coinType} of={of} name={name} />
  </span>
);

const STATEMENTS = [
  { format: "json", name: "Statement", title: "The signed statement, which is what is verified" },
  {
    format: "pdf",
    name: "Statement as PDF",
    title: "The same to print, with a QR code of its root",
  },
] as const;

/** A file that proves the row against the register's root. */
const statementPath = ({ coinType, checkpoint }: Register, row: Row, format: string): string =>
  pathWith("/exports/statement", {
    coinType,
    atCheckpoint: checkpoint,
    version: "2",
    format,
    ...(row.holderId === null ? { owner: rowId(row) } : { holderId: row.holderId }),
  });

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
          `${shareText(row.balance, issued)} of the issued tokens, one of ${countText(holderCount)} in the register`,
        )}
        {amount("Tokens", row.tokens, "transferable unless frozen")}
        {amount("Unlocked in grants", row.unlocked, "claimable now")}
        {amount("Locked in grants", row.locked, "not claimable yet")}
      </Figures>
      <Card
        flush
        title={row.wallets.length === 1 ? "One wallet" : `${row.wallets.length} wallets`}
        about={
          row.holderId === null
            ? "This wallet has no holder in the register"
            : frozen > 0
              ? `${frozen} frozen`
              : undefined
        }
      >
        <Wallets register={register} row={row} />
      </Card>
    </>
  );
};

const Wallets = ({ register, row }: { readonly register: Register; readonly row: Row }) => (
  <DataTable
    label="Wallets"
    rows={row.wallets}
    keyOf={({ address }) => address}
    columns={[
      { header: "Wallet", cell: ({ address }) => <WalletName address={address} to="movements" /> },
      {
        header: "State",
        cell: ({ isFrozen }) =>
          isFrozen ? <Badge tone="bad">frozen</Badge> : <span className="text-muted">active</span>,
      },
      {
        header: "Transfer group",
        wideOnly: true,
        cell: ({ groupId }) => groupId ?? <span className="text-muted">none</span>,
      },
      amountColumn("Balance", register.decimals, ({ balance }: Wallet) => balance),
    ]}
  />
);

export default HolderPage;
