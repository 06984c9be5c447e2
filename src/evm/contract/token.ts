/**
 * What the contracts of a token say about it. Others log events of the same names about something
 * else (a registry whose identities are tokens, a lockup that is one): those are not even decoded.
 */
import type { EvmToken } from "../../settings/assets.ts";
import { decodeEvent, type Subject, subjectOf, type TokenEvent } from "./events.ts";
import type { Address, EvmFact } from "./fact.ts";
import { generations } from "./generations.ts";

/** Every contract whose logs are facts of the token. */
export const contractsOf = (token: EvmToken): readonly Address[] =>
  [token.address, token.lockup, token.identityRegistry].filter((address) => address !== null);

/**
 * A log as what it means for the records of its token; undefined where it means nothing for them, or is
 * another contract's.
 * @throws UndecodableLogError (stop)
 */
export const ownEvent = (token: EvmToken, fact: EvmFact): TokenEvent | undefined => {
  const subject = subjectOf(fact.topics[0]);
  if (subject === undefined || fact.address !== speakerOf(token, subject)) return undefined;
  return decodeEvent(fact);
};

/** The one contract that is believed; null where the token's generation has nothing of the kind. */
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
