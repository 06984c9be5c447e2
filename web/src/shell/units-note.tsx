/** Said on every page of a token whose decimals are not known: its amounts must not be read as tokens. */
import { tokenLabel, useToken } from "../data/tokens.ts";

export const UnitsNote = () => {
  const token = useToken();
  if (token === null || token.decimals !== null) return null;
  return (
    <p role="note" className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-sm">
      The decimals of {tokenLabel(token)} are not known: amounts are in its smallest unit.
    </p>
  );
};
