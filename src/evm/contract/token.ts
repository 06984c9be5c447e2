/**
 * Ignores events of the same name from other contracts, which may mean something else (a registry
 * whose identities are tokens, a lockup that is one).
 */
import type { EvmToken } from "../../settings/assets.ts";
import { decodeEvent, type Subject, subjectOf, type TokenEvent } from "./events.ts";
import type { Address, EvmFact } from "./fact.ts";
import { generations } from "./generations.ts";

export const contractsOf = (token: EvmToken): readonly Address[] =>
  [token.address, token.lockup, token.identityRegistry].filter((address) => address !== null);

/**
 * Decodes a log of the token's authoritative contract; undefined for any other.
 * @throws UndecodableLogError (stop)
 */
export const ownEvent = (token: EvmToken, fact: EvmFact): TokenEvent | undefined => {
  const subject = subjectOf(fact.topics[0]);
  if (subject === undefined || fact.address !== speakerOf(token, subject)) return undefined;
  return decodeEvent(fact);
};

/** The authoritative contract; null where the generation has none. */
const speakerOf = (token: EvmToken, subject: Subject): Address | null => {
  switch (subject) {
    case "transfers":
      return token.address;
    case "schedules":
      return token.lockup ?? token.address;
    case "transfer groups":
      return generations[token.type].groups === subject ? token.address : null;
    case "regions":
      return generations[token.type].groups === subject ? token.identityRegistry : null;
  }
};
