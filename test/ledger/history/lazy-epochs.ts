import { diceFrom, roll } from "../../../demo/random.ts";
import { blsPublicKey } from "../../../demo/wire/bls.ts";
import type { Validator } from "../../../demo/wire/certificate.ts";
import { hash } from "../../../demo/wire/digest.ts";

const VALIDATORS = 100;
const STAKE = 100n;
/** Stake that moves when an epoch ends. */
const MOVED = 3n;
/** An epoch in so many replaces a member. */
const EXCHANGE_EVERY = 10;

/** Committees of consecutive epochs as on the network: a hundred validators, nearly all of them those before. */
export const committees = (seed: string, epochs: number): readonly (readonly Validator[])[] => {
  const dice = diceFrom(`${seed}/committees`);
  let members = inOrder(
    Array.from({ length: VALIDATORS }, (_, n) => ({ ...keysOf(`${seed}/${n}`), stake: STAKE })),
  );
  return Array.from({ length: epochs }, (_, epoch) => {
    const committee = members;
    const [from, to] = [roll(dice, VALIDATORS), roll(dice, VALIDATORS)];
    const exchanged = epoch % EXCHANGE_EVERY === 0 ? keysOf(`${seed}/epoch/${epoch}`) : null;
    members = inOrder(
      committee.map((member, place) => {
        if (from === to || committee[from]?.stake === MOVED) return member;
        if (place === from) return { ...member, ...exchanged, stake: member.stake - MOVED };
        return place === to ? { ...member, stake: member.stake + MOVED } : member;
      }),
    );
    return committee;
  });
};

const keysOf = (name: string) => {
  const secret = BigInt(Buffer.from(hash(Buffer.from(name))).readUInt32BE()) + 1n;
  return { secret, publicKey: blsPublicKey(secret) };
};

const inOrder = (members: readonly Validator[]): readonly Validator[] =>
  members.toSorted((a, b) => Buffer.compare(a.publicKey, b.publicKey));
