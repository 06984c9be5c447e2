/**
 * What the contracts of a token say about it. Others log events of the same names about something else
 * (a registry whose identities are tokens, a lockup that is one): those are not even decoded.
 */
import { decodeEvent, type Subject, subjectOf, type TokenEvent } from "../contract/events.ts";
import { generations } from "../contract/generations.ts";
import type { Address, EvmFact } from "../log/fact.ts";
import type { TokenShape } from "./transfers.ts";

/**
 * A log as what it means for the records of its token; undefined where it means nothing for them, or is
 * another contract's.
 * @throws UndecodableLogError (stop)
 */
export const ownEvent = (token: TokenShape, fact: EvmFact): TokenEvent | undefined => {
  const subject = subjectOf(fact.topics[0]);
  if (subject === undefined || fact.address !== speakerOf(token, subject)) return undefined;
  return decodeEvent(fact);
};

/** The one contract that is believed; null where the token's generation has nothing of the kind. */
const speakerOf = (token: TokenShape, subject: Subject): Address | null => {
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
