/** Movements: every issue, burn and transfer of a token, or every change of one wallet's balance. */
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { OfToken } from "../../blocks/answered.tsx";
import { Badge, Cut, PageHead, type Tone } from "../../blocks/blocks.tsx";
import {
  amountColumn,
  changeColumns,
  timeColumn,
  transactionColumn,
  WalletId,
} from "../../blocks/columns.tsx";
import type { Column } from "../../blocks/data-table.tsx";
import { PagesCard } from "../../blocks/list.tsx";
import { Button, buttonClass, Choose, TextField } from "../../controls/controls.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { ROWS_PER_PAGE, useGraph, usePages } from "../../data/queries.ts";
import { type Token, tokenName, useChangeAddress } from "../../data/tokens.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";

const movementsPage = graph(`query MovementsPage(
  $coinType: String!, $after: String, $order: SortOrder!, $limit: Int!, $type: String
) {
  tokenActivity(
    coinType: $coinType, after: $after, order: $order, limit: $limit, activityType: $type
  ) {
    eventId activityType amount fromAddress toAddress signer checkpoint checkpointTimestamp txDigest
    position
  }
}`);

type Movement = NonNullable<ResultOf<typeof movementsPage>["tokenActivity"]>[number];

const KINDS = [
  { value: "all", label: "All movements", tone: "plain" },
  { value: "mint", label: "Issued", tone: "good" },
  { value: "burn", label: "Burned", tone: "bad" },
  { value: "transfer", label: "Transferred", tone: "plain" },
  { value: "force_transfer", label: "Moved by an administrator", tone: "warn" },
] as const;

type Kind = (typeof KINDS)[number]["value"];

const ORDERS = [
  { value: "DESC", label: "Newest first" },
  { value: "ASC", label: "Oldest first" },
] as const;

type Order = (typeof ORDERS)[number]["value"];

const MovementsPage = () => <OfToken>{(token) => <Movements token={token} />}</OfToken>;

const Movements = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/movements" });
  const change = useChangeAddress();
  const { wallet } = search;
  const kind: Kind = KINDS.find(({ value }) => value === search.kind)?.value ?? "all";
  const order: Order = search.order === "oldest" ? "ASC" : "DESC";
  const { coinType } = token;
  return (
    <>
      <PageHead
        title="Movements"
        about={
          wallet === undefined
            ? `All movements of ${tokenName(token)}`
            : `All changes of one wallet's balance in ${tokenName(token)}`
        }
      />
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
        <Choose
          label="Order"
          value={order}
          choices={ORDERS}
          onChange={(chosen) => change({ order: chosen === "DESC" ? undefined : "oldest" })}
        />
      </div>
      {wallet === undefined ? (
        <OfAll key={`${coinType} ${order} ${kind}`} token={token} kind={kind} order={order} />
      ) : (
        <OfWallet token={token} wallet={wallet} order={order} />
      )}
    </>
  );
};

const WalletField = ({ wallet }: { readonly wallet: string | undefined }) => {
  const change = useChangeAddress();
  const [text, setText] = useState(wallet ?? "");
  const wanted = text.trim();
  const isInvalid = wanted !== "" && !/^0x[0-9a-fA-F]{1,64}$/.test(wanted);
  const showAll = () => change({ wallet: undefined });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wanted === "") showAll();
    else if (!isInvalid) change({ kind: undefined, wallet: wanted });
  };
  return (
    <form className="flex min-w-0 flex-wrap items-end gap-2" onSubmit={submit}>
      <TextField
        label="Wallet"
        placeholder="0x…"
        className="w-64 max-w-full min-w-0"
        value={text}
        aria-invalid={isInvalid}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" disabled={isInvalid} className={buttonClass()}>
        Show
      </button>
      {wallet === undefined ? null : (
        <Button look="quiet" onClick={showAll}>
          All wallets
        </Button>
      )}
    </form>
  );
};

/** New movements are counted up to this many. */
const MAX_NEW = 100;

const newerMovements =
  graph(`query NewerMovements($coinType: String!, $after: String!, $type: String, $limit: Int!) {
  tokenActivity(coinType: $coinType, after: $after, limit: $limit, activityType: $type) { position }
}`);

const OfAll = ({
  token: { coinType, decimals },
  kind,
  order,
}: {
  readonly token: Token;
  readonly kind: Kind;
  readonly order: Order;
}) => {
  const type = kind === "all" ? null : kind;
  const { pages, rows } = usePages(
    ["movements", coinType, order, type],
    async (after, asking) => {
      const variables = { coinType, order, after, limit: ROWS_PER_PAGE, type };
      return (await ask(movementsPage, variables, asking)).tokenActivity;
    },
    ({ position }) => position,
  );
  const newest = order === "DESC" ? rows[0]?.position : undefined;
  const arrived = useGraph(
    newerMovements,
    { coinType, after: newest ?? "0", type, limit: MAX_NEW },
    { enabled: newest !== undefined },
  );
  const fresh = (arrived.data?.tokenActivity ?? []).filter(
    ({ position }) => newest !== undefined && BigInt(position) > BigInt(newest),
  ).length;
  const columns = useMemo(() => columnsOf(decimals), [decimals]);
  return (
    <PagesCard
      title={order === "DESC" ? "Newest first" : "Oldest first"}
      actions={
        fresh > 0 ? (
          <Button look="strong" onClick={() => void pages.refetch()}>
            {fresh === MAX_NEW ? `${MAX_NEW} or more` : fresh} new{" "}
            {fresh === 1 ? "movement" : "movements"}
          </Button>
        ) : undefined
      }
      of={pages}
      what="The movements"
      label="Movements"
      columns={columns}
      rows={rows}
      keyOf={({ eventId }) => eventId}
      empty={{ title: type === null ? "No movements yet" : "No movements of this type" }}
    />
  );
};

const columnsOf = (decimals: number | null): readonly Column<Movement>[] => {
  const wallet = (address: string | null, none: string) =>
    address === null ? (
      <span className="text-muted">{none}</span>
    ) : (
      <WalletId address={address} to="holder" />
    );
  return [
    timeColumn("Time", ({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
    {
      header: "Type",
      cell: ({ activityType }) => {
        const known = KINDS.find(({ value }) => value === activityType);
        const tone: Tone = known?.tone ?? "plain";
        const label = known?.label ?? activityType;
        return (
          <Cut text={label}>
            <Badge tone={tone}>{label}</Badge>
          </Cut>
        );
      },
    },
    amountColumn("Amount", decimals, ({ amount }) => BigInt(amount)),
    {
      header: "From",
      wideOnly: true,
      cell: ({ fromAddress }) => wallet(fromAddress, "newly issued"),
    },
    { header: "To", wideOnly: true, cell: ({ toAddress }) => wallet(toAddress, "burned") },
    transactionColumn(({ txDigest }) => txDigest),
  ];
};

const changesPage = graph(`query WalletChanges(
  $coinType: String!, $owner: String!, $after: String, $order: SortOrder!, $limit: Int!
) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, order: $order, limit: $limit) {
    part cause change balanceAfter checkpoint checkpointTimestamp txDigest cursor
  }
}`);

/** Includes grants, which no movement of the token shows. */
const OfWallet = ({
  token: { coinType, decimals },
  wallet,
  order,
}: {
  readonly token: Token;
  readonly wallet: string;
  readonly order: Order;
}) => {
  const { pages, rows } = usePages(
    ["wallet changes", coinType, wallet, order],
    async (after, asking) => {
      const variables = { coinType, owner: wallet, order, after, limit: ROWS_PER_PAGE };
      return (await ask(changesPage, variables, asking)).balanceChanges;
    },
    ({ cursor }) => cursor,
  );
  const changes = useMemo(
    () =>
      rows.map((row) => ({
        ...row,
        change: BigInt(row.change),
        balanceAfter: BigInt(row.balanceAfter),
        timeMs: fromSeconds(row.checkpointTimestamp),
      })),
    [rows],
  );
  return (
    <PagesCard
      title={<LongId text={wallet} what="address" explorer="account" head={12} tail={8} />}
      of={pages}
      what="The movements"
      label="Movements of this wallet"
      columns={changeColumns(decimals)}
      rows={changes}
      keyOf={({ cursor }) => cursor}
      empty={{
        title: "No movements",
        text: "This wallet never held this token. Check that the right token is chosen.",
      }}
    />
  );
};

export default MovementsPage;
