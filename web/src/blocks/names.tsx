/** Holders and wallets by name: a number or an address, linked to its page. */
import { Link } from "@tanstack/react-router";
import { keepMoment } from "../data/tokens.ts";
import { WalletId } from "./columns.tsx";

/** `Holder 7`, linked to the holder at the moment in view. */
export const HolderName = ({
  coinType,
  holderId,
  link = true,
}: {
  readonly coinType: string;
  readonly holderId: string;
  readonly link?: boolean;
}) => {
  const name = `Holder ${holderId}`;
  if (!link) return <span className="whitespace-nowrap">{name}</span>;
  return (
    <Link
      to="/holder/$holder"
      params={{ holder: holderId }}
      search={(now) => ({ ...keepMoment(now), token: coinType })}
      className="whitespace-nowrap hover:text-accent hover:underline"
    >
      {name}
    </Link>
  );
};

/** A wallet by its address. @param to the page that it leads to */
export const WalletName = ({
  address,
  to = "holder",
}: {
  readonly address: string;
  readonly to?: "holder" | "movements";
}) => <WalletId address={address} to={to} />;
