/** A view of the token in the address: what is shown until it is known, and when there is none. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTokenSearch } from "../data/here.ts";
import { isRefused } from "../data/queries.ts";
import { type Token, useToken, useTokens } from "../data/tokens.ts";
import { Empty, Failed, Loading } from "./blocks.tsx";

/** The token as it was read last stays, whatever becomes of reading it again: each answer about it says for itself. */
export const OfToken = ({ children }: { readonly children: (token: Token) => ReactNode }) => {
  const { data, error, refetch } = useTokens();
  const token = useToken();
  const kept = useTokenSearch();
  if (error !== null && (data === undefined || isRefused(error))) {
    return <Failed error={error} what="The tokens" onRetry={() => void refetch()} />;
  }
  if (data === undefined) return <Loading lines={8} />;
  if (token !== null) return children(token);
  return (
    <Empty title={kept.token === undefined ? "No token was seen yet" : "No such token was seen"}>
      A token appears here with its first movement on the ledger.{" "}
      <Link to="/status" className="text-accent underline">
        Status
      </Link>{" "}
      says how far the ledger has been read.
    </Empty>
  );
};
