/** Holders and wallets by name: a number or an address, linked to its page, and beside it the label that it was given. */
import { Link } from "@tanstack/react-router";
import { type Subject, useLabels } from "../data/labels.ts";
import { keepMoment, useToken } from "../data/tokens.ts";
import { WalletId } from "./columns.tsx";

/** The label of a holder, wallet, role or treasury; nothing without one, and for keys that see none. */
export const LabelText = ({
  coinType,
  of: subject,
}: {
  /** The token in view by default. */
  readonly coinType?: string;
  readonly of: Subject;
}) => {
  const token = useToken();
  return <LabelOf text={useLabels(coinType ?? token?.coinType ?? "").labelOf(subject)?.text} />;
};

/** A label's text; nothing without one. */
export const LabelOf = ({ text }: { readonly text: string | null | undefined }) =>
  text == null ? null : (
    <span
      className="inline-block max-w-(--label-width,16rem) min-w-0 align-bottom max-md:[td_&]:max-w-24 overflow-hidden text-ellipsis text-muted"
      title={text}
    >
      {text}
    </span>
  );

/** `Holder 7`, linked to the holder at the moment in view, and its label. */
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
  return (
    <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5 whitespace-nowrap">
      {link ? (
        <Link
          to="/holder/$holder"
          params={{ holder: holderId }}
          search={(now) => ({ ...keepMoment(now), token: coinType })}
          className="hover:text-accent hover:underline"
        >
          {name}
        </Link>
      ) : (
        name
      )}
      <LabelText coinType={coinType} of={{ kind: "HOLDER", holderId }} />
    </span>
  );
};

/** A wallet by its address, and its label. @param to the page that it leads to */
export const WalletName = ({
  address,
  to = "wallet",
}: {
  readonly address: string;
  readonly to?: "wallet" | "holder" | "movements";
}) => (
  <span className="inline-flex max-w-full min-w-0 items-baseline gap-1.5 whitespace-nowrap">
    <WalletId address={address} to={to} />
    <LabelText of={{ kind: "WALLET", address }} />
  </span>
);

/** A wallet's holder where it has one, and the wallet. */
export const Side = ({
  coinType,
  address,
  holderId,
  none,
  brief = false,
}: {
  readonly coinType: string;
  readonly address: string | null;
  readonly holderId: string | null;
  readonly none: string;
  /**
   * On a desk, where two sides have no room for more, leaves a holder's wallet out, which the row's transaction has, and
   * cuts labels.
   */
  readonly brief?: boolean;
}) => {
  if (address === null) return <span className="text-muted">{none}</span>;
  return (
    <span
      className={`inline-flex items-center gap-2 max-[479px]:flex-col max-[479px]:items-start max-[479px]:gap-0 ${brief ? "md:max-2xl:[--label-width:8rem]" : ""}`}
    >
      {holderId === null ? null : <HolderName coinType={coinType} holderId={holderId} />}
      <span className={brief && holderId !== null ? "contents md:max-2xl:hidden" : "contents"}>
        <WalletName address={address} />
      </span>
    </span>
  );
};
