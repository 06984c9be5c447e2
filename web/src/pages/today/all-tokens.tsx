/** All tokens together, for who has several. */
import { Link } from "@tanstack/react-router";
import { Card, Line, Lines } from "../../blocks/blocks.tsx";
import { type Token, tokenLabel, tokenName, useTokens } from "../../data/tokens.ts";
import { Amount } from "../../shown/fitted.tsx";

export const AllTokens = ({ chosen }: { readonly chosen: Token }) => {
  const tokens = useTokens().data?.tokens ?? [];
  if (tokens.length < 2) return null;
  return (
    <Card
      flush
      title={`${tokens.length} tokens`}
      about="Supply on the ledger; each leads to its own view"
    >
      <Lines>
        {tokens.map((token) => (
          <Line
            key={token.coinType}
            name={
              <Link
                to="/"
                search={{ token: token.coinType }}
                aria-current={token.coinType === chosen.coinType ? "page" : undefined}
                className="font-medium hover:text-accent hover:underline aria-[current]:text-accent"
              >
                {tokenName(token)}
              </Link>
            }
            about={tokenLabel(token)}
          >
            {token.totalSupply === null ? (
              <span className="text-muted">not seen</span>
            ) : (
              <Amount
                units={BigInt(token.totalSupply)}
                decimals={token.decimals}
                symbol={token.symbol}
              />
            )}
          </Line>
        ))}
      </Lines>
    </Card>
  );
};
