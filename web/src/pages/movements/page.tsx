/** What moved: every issue, burn and transfer of a token, or of one wallet, page by page. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Cut, Empty, PageHead, type Tone } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { OfToken } from "../../blocks/of-token.tsx";
import { Button, buttonClass } from "../../controls/button.tsx";
import { TextField } from "../../controls/field.tsx";
import { Choose } from "../../controls/select.tsx";
import { ask } from "../../data/ask.ts";
import { graph, type ResultOf } from "../../data/graph.ts";
import { type TokenSearch, useTokenSearch, without } from "../../data/here.ts";
import { useGraph } from "../../data/queries.ts";
import { type Token, tokenLabel } from "../../data/tokens.ts";
import { LongId, shortened } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";
import { OfWallet } from "./of-wallet.tsx";
import { NextPage, PAGE, usePages } from "./pages.tsx";

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
  { value: "all", label: "All movements" },
  { value: "mint", label: "Issued" },
  { value: "burn", label: "Burned" },
  { value: "transfer", label: "Transferred" },
  { value: "force_transfer", label: "Moved by an administrator" },
] as const;

type Kind = (typeof KINDS)[number]["value"];

const TONES: Readonly<Record<string, Tone>> = {
  mint: "good",
  burn: "bad",
  transfer: "plain",
  force_transfer: "warn",
};

const kindLabel = (kind: string): string =>
  KINDS.find(({ value }) => value === kind)?.label ?? kind;

const MovementsPage = () => <OfToken>{(token) => <Movements token={token} />}</OfToken>;

const Movements = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/movements" });
  const navigate = useNavigate({ from: "/movements" });
  const kind: Kind = KINDS.find(({ value }) => value === search.kind)?.value ?? "all";
  const order = search.order === "oldest" ? "ASC" : "DESC";
  return (
    <>
      <PageHead
        title="Movements"
        about={
          search.wallet === undefined
            ? `All movements of ${token.name ?? tokenLabel(token)}`
            : `What changed the balance of one wallet in ${token.name ?? tokenLabel(token)}`
        }
      />
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <WalletField key={search.wallet} wallet={search.wallet} />
        {search.wallet === undefined ? (
          <Choose
            label="Type of movement"
            value={kind}
            choices={KINDS}
            onChange={(chosen) =>
              void navigate({
                search: chosen === "all" ? without(search, "kind") : { ...search, kind: chosen },
              })
            }
          />
        ) : null}
        <Choose
          label="Order"
          value={order}
          choices={[
            { value: "DESC", label: "Newest first" },
            { value: "ASC", label: "Oldest first" },
          ]}
          onChange={(chosen) =>
            void navigate({
              search: chosen === "DESC" ? without(search, "order") : { ...search, order: "oldest" },
            })
          }
        />
      </div>
      {search.wallet === undefined ? (
        <OfAll key={`${token.coinType} ${order} ${kind}`} token={token} kind={kind} order={order} />
      ) : (
        <OfWallet token={token} wallet={search.wallet} order={order} />
      )}
    </>
  );
};

const WalletField = ({ wallet }: { readonly wallet: string | undefined }) => {
  const search = useSearch({ from: "/movements" });
  const navigate = useNavigate({ from: "/movements" });
  const [text, setText] = useState(wallet ?? "");
  const wanted = text.trim();
  const isAddress = /^0x[0-9a-fA-F]{1,64}$/.test(wanted);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wanted === "") void navigate({ search: without(search, "wallet") });
    else if (isAddress) void navigate({ search: { ...without(search, "kind"), wallet: wanted } });
  };
  return (
    <form className="flex min-w-0 flex-wrap items-end gap-2" onSubmit={submit}>
      <TextField
        label="Of one wallet"
        placeholder="0x…"
        className="w-64 max-w-full min-w-0"
        value={text}
        aria-invalid={wanted !== "" && !isAddress}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" disabled={wanted !== "" && !isAddress} className={buttonClass()}>
        Show
      </button>
      {wallet === undefined ? null : (
        <Button look="quiet" onClick={() => void navigate({ search: without(search, "wallet") })}>
          All wallets
        </Button>
      )}
    </form>
  );
};

const newerMovements =
  graph(`query NewerMovements($coinType: String!, $after: String!, $type: String) {
  tokenActivity(coinType: $coinType, after: $after, limit: 100, activityType: $type) { position }
}`);

const OfAll = ({
  token,
  kind,
  order,
}: {
  readonly token: Token;
  readonly kind: Kind;
  readonly order: "ASC" | "DESC";
}) => {
  const kept = useTokenSearch();
  const { coinType } = token;
  const type = kind === "all" ? null : kind;
  const { pages, rows, about } = usePages(
    ["movements", coinType, order, type],
    async (after, asking) => {
      const variables = { coinType, order, after, limit: PAGE, type };
      return (await ask(movementsPage, variables, asking)).tokenActivity;
    },
    ({ position }) => position,
  );
  const newest = order === "DESC" ? rows[0]?.position : undefined;
  const arrived = useGraph(
    newerMovements,
    { coinType, after: newest ?? "0", type },
    { enabled: newest !== undefined },
  );
  const fresh = (arrived.data?.tokenActivity ?? []).filter(
    ({ position }) => newest !== undefined && BigInt(position) > BigInt(newest),
  ).length;
  const columns = useMemo(() => columnsOf(token, kept), [token, kept]);
  return (
    <Answered of={pages} what="The movements" lines={8} card>
      {() => (
        <Card
          flush
          title={order === "DESC" ? "Newest first" : "Oldest first"}
          about={about}
          actions={
            fresh > 0 ? (
              <Button look="strong" onClick={() => void pages.refetch()}>
                {fresh === 100 ? "100 or more" : fresh} new {fresh === 1 ? "movement" : "movements"}
              </Button>
            ) : undefined
          }
        >
          <DataTable
            label="Movements"
            columns={columns}
            rows={rows}
            keyOf={({ eventId }) => eventId}
            empty={
              <Empty title={type === null ? "Nothing ever moved" : "No movement of this type"} />
            }
          />
          <NextPage of={pages} />
        </Card>
      )}
    </Answered>
  );
};

const columnsOf = (token: Token, kept: TokenSearch): readonly Column<Movement>[] => {
  const wallet = (address: string | null, none: string) =>
    address === null ? (
      <span className="text-muted">{none}</span>
    ) : (
      <LongId text={address} what="address" explorer="account">
        <Link
          to="/holder/$holder"
          params={{ holder: address }}
          search={kept}
          className="hover:underline"
        >
          {shortened(address)}
        </Link>
      </LongId>
    );
  return [
    {
      id: "time",
      header: "Time",
      cell: ({ checkpointTimestamp }) => <Moment ms={fromSeconds(checkpointTimestamp)} brief />,
    },
    {
      id: "what",
      header: "What",
      cell: ({ activityType }) => (
        <Cut text={kindLabel(activityType)}>
          <Badge tone={TONES[activityType] ?? "plain"}>{kindLabel(activityType)}</Badge>
        </Cut>
      ),
    },
    amountColumn(token.decimals, ({ amount }) => BigInt(amount), {
      id: "amount",
      header: "Amount",
    }),
    {
      id: "from",
      header: "From",
      wideOnly: true,
      cell: ({ fromAddress }) => wallet(fromAddress, "newly issued"),
    },
    {
      id: "to",
      header: "To",
      wideOnly: true,
      cell: ({ toAddress }) => wallet(toAddress, "burned"),
    },
    {
      id: "tx",
      header: "Transaction",
      wideOnly: true,
      cell: ({ txDigest }) => <LongId text={txDigest} what="digest" explorer="transaction" />,
    },
  ];
};

export default MovementsPage;
