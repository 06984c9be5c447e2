/** Folds the facts of a demo ledger plainly, as one would not in production. */
import type { DemoLedger } from "../../demo/demo-ledger.ts";
import * as events from "../../src/ledger/contract/events.ts";
import * as names from "../../src/ledger/contract/names.ts";
import { decodeSharedToken, decodeTimelock } from "../../src/ledger/contract/objects.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import type { EventFact } from "../../src/log/fact.ts";

/** Reads the ledger's checkpoints and keeps what their facts say. */
export const createFactReader = (ledger: DemoLedger) => {
  const read = createCheckpointReader(ledger.packages);
  const tokens = new Map<string, object>();
  const grants = new Map<string, object>();
  const told: string[] = [];
  const decimals = new Map<string, number>();
  let skipped = 0;
  let facts = 0;

  const next = (): void => {
    const made = ledger.next();
    const encoding = made.sequence % 2n === 0n ? "bcs" : "protobuf";
    const seen = read({ sequence: made.sequence, encoding, bytes: made.raw(encoding) });
    if (seen.skipped) skipped += 1;
    facts += seen.facts.length;
    for (const coin of seen.coins) decimals.set(coin.coinType, coin.decimals);
    for (const fact of seen.facts) {
      if (fact.kind === "event") {
        const description = describe(fact);
        told.push(
          [
            fact.txDigest,
            fact.index,
            fact.checkpoint,
            fact.sender,
            fact.coinType,
            description,
          ].join(" "),
        );
        continue;
      }
      const live = fact.name === names.SHARED_TOKEN ? tokens : grants;
      if (fact.name !== names.SHARED_TOKEN && fact.name !== names.TIMELOCK) continue;
      if (fact.kind === "removal") {
        live.delete(fact.objectId);
        continue;
      }
      const place = {
        coinType: fact.coinType,
        version: fact.version,
        checkpoint: fact.checkpoint,
      };
      const contents =
        fact.name === names.SHARED_TOKEN
          ? decodeSharedToken(fact.contents)
          : decodeTimelock(fact.contents);
      live.set(fact.objectId, { ...contents, ...place });
    }
  };
  return {
    next,
    tokens,
    grants,
    told,
    decimals,
    counts: () => ({ skipped, facts }),
  };
};

const describe = ({ name, contents }: EventFact): string => {
  switch (name) {
    case names.MINT: {
      const { tokenId, to, amount } = events.decodeMint(contents);
      return `mint ${tokenId} - ${to} ${amount}`;
    }
    case names.BURN: {
      const { tokenId, from, amount } = events.decodeBurn(contents);
      return `burn ${tokenId} ${from} - ${amount}`;
    }
    case names.TRANSFER: {
      const { tokenId, from, to, amount } = events.decodeTransfer(contents);
      return `transfer ${tokenId} ${from} ${to} ${amount}`;
    }
    case names.FORCE_TRANSFER: {
      const { tokenId, from, to, amount } = events.decodeForceTransfer(contents);
      return `force_transfer ${tokenId} ${from} ${to} ${amount}`;
    }
    case names.ROLE_CHANGE: {
      const { owner, role, granted } = events.decodeRoleChange(contents);
      return `role ${owner} ${role.replace(/^(0x)?/, "0x")} ${granted}`;
    }
    case names.HOLDER_ADDED:
      return `holder_added ${events.decodeHolderAdded(contents).holderId} - - -`;
    case names.HOLDER_REMOVED:
      return `holder_removed ${events.decodeHolderRemoved(contents).holderId} - - -`;
    case names.HOLDER_ADDRESS_ADDED: {
      const { holderId, addr } = events.decodeHolderAddressAdded(contents);
      return `holder_address_added ${holderId} ${addr} - -`;
    }
    case names.HOLDER_ADDRESS_REMOVED: {
      const { holderId, addr } = events.decodeHolderAddressRemoved(contents);
      return `holder_address_removed ${holderId} ${addr} - -`;
    }
    case names.ADDRESS_JOINED_GROUP: {
      const { addr, groupId } = events.decodeAddressJoinedGroup(contents);
      return `address_joined_group - ${addr} ${groupId} -`;
    }
    case names.ADDRESS_LEFT_GROUP: {
      const { addr, groupId } = events.decodeAddressLeftGroup(contents);
      return `address_left_group - ${addr} ${groupId} -`;
    }
    case names.ADDRESS_FROZEN: {
      const { addr, isFrozen } = events.decodeAddressFrozen(contents);
      return `address_frozen - ${addr} - ${isFrozen}`;
    }
    default:
      return `unknown ${name}`;
  }
};

/** The events of the model, as the reader describes them, in chain order. */
export const toldByModel = ({ model }: DemoLedger): readonly string[] =>
  [
    ...model.activity.map((e) => ({
      e,
      is: `${e.activityType} ${e.tokenObjectId} ${e.fromAddress ?? "-"} ${e.toAddress ?? "-"} ${e.amount}`,
    })),
    ...model.roleEvents.map((e) => ({ e, is: `role ${e.owner} ${e.role} ${e.granted}` })),
    ...model.holderEvents.map((e) => ({
      e,
      is: `${e.eventType} ${e.holderId ?? "-"} ${e.address ?? "-"} ${e.groupId ?? "-"} ${e.isFrozen ?? "-"}`,
    })),
  ]
    .sort((a, b) => (a.e.position < b.e.position ? -1 : 1))
    .map(({ e, is }) => [e.txDigest, e.eventSeq, e.checkpoint, e.signer, e.coinType, is].join(" "));
