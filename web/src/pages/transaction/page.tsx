/** What one transaction did to the register: from whom to whom, balances, events and roles. */
import { Link, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Answer, Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import type { Column } from "../../blocks/column.ts";
import { WalletId } from "../../blocks/columns.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { LabelText, Side, WalletName } from "../../blocks/names.tsx";
import { graph, type ResultOf } from "../../data/ask.ts";
import { useGraph } from "../../data/queries.ts";
import { type Token, tokenLabel, useTokens } from "../../data/tokens.ts";
import { CAUSES, eventText, movementOf, roleName } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { dayText, fromSeconds } from "../../shown/moment.ts";
import { shortened } from "../../shown/shorten.ts";
import { Moment } from "../../shown/shown.tsx";

const transactionQuery = graph(`query Transaction($digest: String!) {
  transaction(digest: $digest) {
    digest checkpoint checkpointTimestamp sender
    activity {
      eventId activityType amount coinType fromAddress toAddress fromHolderId toHolderId
    }
    changes { cursor coinType owner holderId part cause change balanceAfter }
    holderEvents { eventId coinType eventType holderId address groupId isFrozen }
    roleEvents { eventId coinType owner role roleBit granted }
  }
}`);

type Transaction = NonNullable<ResultOf<typeof transactionQuery>["transaction"]>;
type Movement = Transaction["activity"][number];
type Change = Transaction["changes"][number];
type HolderEvent = Transaction["holderEvents"][number];
type RoleEvent = Transaction["roleEvents"][number];

const TransactionPage = () => {
  const { digest } = useParams({ from: "/transaction/$digest" });
  // Written once, but null until all pipelines have committed it.
  const found = useGraph(transactionQuery, { digest });
  return (
    <>
      <PageHead
        title={`Transaction ${shortened(digest)}`}
        about={<LongId text={digest} what="digest" explorer="transaction" head={44} tail={0} />}
      />
      <Answered of={found} what="The transaction" lines={8} card>
        {({ transaction }) =>
          transaction === null ? (
            <Card>
              <Empty title="The register knows nothing of this transaction">
                It changed no token of the register, or its checkpoint is not indexed yet.
              </Empty>
            </Card>
          ) : (
            <Shown of={found} transaction={transaction} />
          )
        }
      </Answered>
    </>
  );
};

const Shown = ({
  of,
  transaction,
}: {
  readonly of: Answer<unknown>;
  readonly transaction: Transaction;
}) => {
  const tokens = useTokens().data?.tokens;
  const columns = useMemo(() => columnsOf(tokens ?? []), [tokens]);
  const { checkpoint, checkpointTimestamp, sender, activity, changes } = transaction;
  const { holderEvents, roleEvents } = transaction;
  return (
    <div className="space-y-4">
      <Figures>
        <Figure
          label="Time"
          value={dayText(fromSeconds(checkpointTimestamp))}
          about={<Moment at={fromSeconds(checkpointTimestamp)} />}
        />
        <Figure
          label="Checkpoint"
          value={
            <Link
              to="/proof"
              search={(now) => ({ ...now, checkpoint })}
              className="hover:text-accent hover:underline"
            >
              {countText(checkpoint)}
            </Link>
          }
          about="with its signatures"
        />
        <Figure
          label="Signed by"
          value={sender === null ? "not known" : <WalletId address={sender} to="wallet" />}
          about={
            sender === null ? (
              "its facts were archived"
            ) : (
              <span className="block min-h-[1lh]">
                <LabelText of={{ kind: "WALLET", address: sender }} />
              </span>
            )
          }
        />
      </Figures>
      {activity.length === 0 ? null : (
        <ListCard
          title="From whom to whom"
          about="Movements as the contract emitted them"
          of={of}
          what="The movements"
          label="Movements"
          columns={columns.activity}
          rows={() => activity}
          keyOf={({ eventId }) => eventId}
        />
      )}
      {changes.length === 0 ? null : (
        <ListCard
          title="Balances"
          about="What it changed, grants included"
          of={of}
          what="The balances"
          label="Changes of balances"
          columns={columns.changes}
          rows={() => changes}
          keyOf={({ cursor, coinType }) => `${cursor} ${coinType}`}
        />
      )}
      {holderEvents.length === 0 ? null : (
        <ListCard
          title="Register events"
          of={of}
          what="The events"
          label="Register events"
          columns={columns.holderEvents}
          rows={() => holderEvents}
          keyOf={({ eventId }) => eventId}
        />
      )}
      {roleEvents.length === 0 ? null : (
        <ListCard
          title="Roles"
          of={of}
          what="The roles"
          label="Changes of roles"
          columns={columns.roleEvents}
          rows={() => roleEvents}
          keyOf={({ eventId }) => eventId}
        />
      )}
    </div>
  );
};

const columnsOf = (tokens: readonly Token[]) => {
  const tokenOf = (coinType: string) => tokens.find((token) => token.coinType === coinType);
  const amount = (coinType: string, units: string, signed = false) => {
    const token = tokenOf(coinType);
    return (
      <span className="whitespace-nowrap">
        <Amount units={BigInt(units)} decimals={token?.decimals ?? null} signed={signed} />{" "}
        <span className="text-muted">{tokenLabel(token ?? { symbol: null, coinType })}</span>
      </span>
    );
  };
  const activity: readonly Column<Movement>[] = [
    {
      header: "Type",
      cell: ({ activityType }) => {
        const { label, tone } = movementOf(activityType);
        return <Badge tone={tone}>{label}</Badge>;
      },
    },
    {
      header: "Amount",
      align: "right",
      cell: ({ coinType, ...row }) => amount(coinType, row.amount),
    },
    {
      header: "From",
      wideOnly: true,
      // Labels, which come later, move no column.
      className: "md:w-1/2",
      cell: ({ coinType, fromAddress, fromHolderId }) => (
        <Side
          coinType={coinType}
          address={fromAddress}
          holderId={fromHolderId}
          none="newly issued"
        />
      ),
    },
    {
      header: "To",
      wideOnly: true,
      className: "md:w-1/2",
      cell: ({ coinType, toAddress, toHolderId }) => (
        <Side coinType={coinType} address={toAddress} holderId={toHolderId} none="burned" />
      ),
    },
  ];
  const changes: readonly Column<Change>[] = [
    {
      header: "Holder",
      className: "md:w-full",
      cell: ({ coinType, owner, holderId }) => (
        <Side coinType={coinType} address={owner} holderId={holderId} none="" />
      ),
    },
    { header: "Cause", wideOnly: true, cell: ({ cause }) => CAUSES[cause] },
    {
      header: "Held in",
      wideOnly: true,
      cell: ({ part }) => (part === "GRANTS" ? "grants" : "tokens"),
    },
    {
      header: "Change",
      align: "right",
      cell: ({ coinType, change }) => amount(coinType, change, true),
    },
    {
      header: "Balance after",
      wideOnly: true,
      align: "right",
      cell: ({ coinType, balanceAfter }) => amount(coinType, balanceAfter),
    },
  ];
  const token = <Row extends { readonly coinType: string }>(): Column<Row> => ({
    header: "Token",
    cell: ({ coinType }) => tokenLabel(tokenOf(coinType) ?? { symbol: null, coinType }),
  });
  const holderEvents: readonly Column<HolderEvent>[] = [
    { header: "Event", cell: eventText },
    { header: "Wallet", cell: ({ address }) => address && <WalletName address={address} /> },
    token(),
  ];
  const roleEvents: readonly Column<RoleEvent>[] = [
    {
      header: "Change",
      cell: ({ granted, role, roleBit }) =>
        `${granted ? "Granted" : "Revoked"}: ${roleName(role, roleBit)}`,
    },
    { header: "Wallet", cell: ({ owner }) => <WalletName address={owner} /> },
    token(),
  ];
  return { activity, changes, holderEvents, roleEvents };
};

export default TransactionPage;
