/** One wallet over all tokens: what it holds, whose it is, its group, whether it is frozen, its roles. */
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { Answered } from "../../blocks/answered.tsx";
import { Notice, PageHead } from "../../blocks/blocks.tsx";
import { EditLabel } from "../../blocks/label-editor.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { LabelText } from "../../blocks/names.tsx";
import { When } from "../../controls/when.tsx";
import { askList, graph, type ResultOf } from "../../data/ask.ts";
import { useNewestMinute } from "../../data/live.ts";
import { momentVariables, useMomentMs } from "../../data/moment.ts";
import { NOW, PAST, useRead } from "../../data/queries.ts";
import { canonicalWallet, keepTokenWith, tokenLabel, useToken } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { shortened } from "../../shown/shorten.ts";
import { Moment } from "../../shown/shown.tsx";
import { walletColumns } from "./columns.tsx";

const walletQuery = graph(`query WalletTokens(
  $address: String!, $atCheckpoint: String, $atTimestamp: String
) {
  wallet(address: $address, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp) {
    checkpoint
    tokens(limit: 1000) {
      coinType decimals symbol name balance tokens granted holderId groupId isFrozen roles roleBits
    }
  }
}`);

export type InToken = NonNullable<ResultOf<typeof walletQuery>["wallet"]>["tokens"][number];

/** @param at the moment; undefined: the newest */
const useWallet = (address: string, at: string | undefined) =>
  useRead(at === undefined ? NOW : PAST, ["wallet", address, at ?? "newest"], async (asking) => {
    const variables = { address, ...momentVariables(at) };
    const { data, leftOut } = await askList(walletQuery, variables, asking);
    return { checkpoint: data.wallet?.checkpoint, tokens: data.wallet?.tokens ?? [], leftOut };
  });

const WalletPage = () => {
  const { address: asked } = useParams({ from: "/wallet/$address" });
  const address = canonicalWallet(asked);
  const { at } = useSearch({ from: "/wallet/$address" });
  const atMs = useMomentMs(at);
  const newest = useNewestMinute();
  const token = useToken();
  const wallet = useWallet(address, at);
  const title = `Wallet ${shortened(address)}`;
  const subject = { kind: "WALLET", address } as const;
  return (
    <>
      <PageHead
        title={title}
        checkpoint={wallet.data?.checkpoint}
        about={
          <span className="flex min-w-0 flex-wrap items-center gap-x-2">
            <span className="inline-flex max-w-full items-center gap-1 font-medium [&>span]:text-ink">
              <LabelText of={subject} />
              {token === null ? null : (
                <EditLabel coinType={token.coinType} of={subject} name={title} />
              )}
            </span>
            <LongId text={address} what="address" explorer="account" head={66} tail={0} />
            {atMs === undefined ? null : (
              <span>
                at <Moment at={atMs} />
              </span>
            )}
          </span>
        }
      />
      <div className="mb-4">
        <When
          name="at"
          label="At"
          at={at}
          from={undefined}
          to={newest ?? Math.floor(Date.now() / 1_000)}
        />
      </div>
      <Answered of={wallet} what="The wallet" lines={6} card>
        {({ leftOut }) => (
          <div className="space-y-4">
            {leftOut.length === 0 ? null : (
              <Notice tone="warn" title="Tokens are left out">
                {leftOut.map((coinType) => tokenLabel({ coinType, symbol: null })).join(", ")}: in
                quarantine, or incomplete. Their own views say why.
              </Notice>
            )}
            <ListCard
              title={tokensText(wallet.data?.tokens.length ?? 0)}
              about="Where it has a balance, a holder, a group, a freeze or a role"
              of={wallet}
              what="The tokens"
              label="Tokens of this wallet"
              view="wallet"
              columns={walletColumns(address)}
              rows={({ tokens }) => tokens}
              keyOf={({ coinType }) => coinType}
              empty={{
                title: "The register knows nothing of this wallet",
                text: "It has no balance, holder, group or role in any token at that time.",
              }}
            />
            <p className="text-sm">
              <Link
                to="/movements"
                search={keepTokenWith({ wallet: address })}
                className="text-accent hover:underline"
              >
                All movements of this wallet
              </Link>
            </p>
          </div>
        )}
      </Answered>
    </>
  );
};

const tokensText = (count: number): string =>
  count === 1 ? "One token" : `${countText(count)} tokens`;

export default WalletPage;
