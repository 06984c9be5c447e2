/** What one transaction did to the register. */
import { Link, useParams } from "@tanstack/react-router";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty, Fact, Facts, Line, Lines, PageHead } from "../../blocks/blocks.tsx";
import { WalletId } from "../../blocks/columns.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { graph, type ResultOf } from "../../data/ask.ts";
import { useGraph } from "../../data/queries.ts";
import { keepTokenWith } from "../../data/tokens.ts";
import { eventText, roleName } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { shortened } from "../../shown/shorten.ts";
import { Moment } from "../../shown/shown.tsx";

const transactionQuery = graph(`query TransactionView($digest: String!) {
  transaction(digest: $digest) {
    checkpoint checkpointTimestamp sender
    activity { eventId activityType amount decimals fromAddress toAddress }
    holderEvents { eventId eventType holderId address groupId isFrozen }
    roleEvents { eventId owner role roleBit granted }
  }
}`);

type Transaction = NonNullable<ResultOf<typeof transactionQuery>["transaction"]>;

const TYPES: Readonly<Record<string, string>> = {
  mint: "Issued",
  burn: "Burned",
  transfer: "Transferred",
  force_transfer: "Moved by an administrator",
};

const TransactionPage = () => {
  const { digest } = useParams({ from: "/transaction/$digest" });
  const query = useGraph(transactionQuery, { digest });
  return (
    <>
      <PageHead
        title={`Transaction ${shortened(digest)}`}
        about={<LongId text={digest} what="digest" head={50} tail={0} />}
      />
      <Answered of={query} what="The transaction" lines={6} card>
        {({ transaction }) =>
          transaction === null ? (
            <Card>
              <Empty title="Unknown transaction">
                The register knows nothing of it: it did not touch a token here, or is not indexed
                yet.
              </Empty>
            </Card>
          ) : (
            <Known transaction={transaction} />
          )
        }
      </Answered>
    </>
  );
};

const Known = ({ transaction }: { readonly transaction: Transaction }) => {
  const { checkpoint, checkpointTimestamp, sender, activity, holderEvents, roleEvents } =
    transaction;
  const wallets = (from: string | null, to: string | null) => (
    <span className="flex flex-wrap items-center gap-x-2">
      {from === null ? null : <WalletName address={from} />}
      {from === null || to === null ? null : "to"}
      {to === null ? null : <WalletName address={to} />}
    </span>
  );
  return (
    <div className="space-y-4">
      <Card>
        <Facts>
          <Fact name="Checkpoint">
            <Link
              to="/proof"
              search={keepTokenWith({ checkpoint })}
              className="text-accent underline"
            >
              {countText(checkpoint)}
            </Link>
          </Fact>
          <Fact name="Time">
            <Moment at={fromSeconds(checkpointTimestamp)} />
          </Fact>
          {sender === null ? null : (
            <Fact name="Signed by">
              <WalletId address={sender} />
            </Fact>
          )}
        </Facts>
      </Card>
      <Card flush title="What it did" about="In the order of the chain, by kind">
        <Lines>
          {activity.map(({ eventId, activityType, amount, decimals, fromAddress, toAddress }) => (
            <Line
              key={eventId}
              name={TYPES[activityType] ?? activityType}
              about={wallets(fromAddress, toAddress)}
            >
              <Amount units={BigInt(amount)} decimals={decimals} />
            </Line>
          ))}
          {holderEvents.map((event) => (
            <Line key={event.eventId} name={eventText(event)}>
              {wallets(null, event.address)}
            </Line>
          ))}
          {roleEvents.map(({ eventId, owner, role, roleBit, granted }) => (
            <Line
              key={eventId}
              name={`${granted ? "Granted" : "Revoked"}: ${roleName(role, roleBit)}`}
            >
              {wallets(null, owner)}
            </Line>
          ))}
        </Lines>
        {activity.length + holderEvents.length + roleEvents.length > 0 ? null : (
          <Empty title="Only grants changed">See the movements of the wallet that signed it.</Empty>
        )}
      </Card>
    </div>
  );
};

export default TransactionPage;
