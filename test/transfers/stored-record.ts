import type { NewTransferEvent } from "../../src/transfers/records.ts";

/** A record of a movement that funds no grant, between wallets without groups. */
export const storedRecord = (
  record: Partial<NewTransferEvent> & Pick<NewTransferEvent, "project" | "id" | "chainId">,
): NewTransferEvent => ({
  block: 1n,
  blockTimestamp: 1_700_000_000n,
  logIndex: 0,
  txHash: Buffer.alloc(32),
  token: Buffer.alloc(20),
  methodName: "transfer",
  amount: 1n,
  sender: Buffer.alloc(20),
  recipient: Buffer.alloc(20),
  senderGroup: null,
  recipientGroup: null,
  scheduleId: null,
  commencementTimestamp: null,
  releaseCount: null,
  delayUntilFirstReleaseInSeconds: null,
  initialReleasePortionInBips: null,
  periodBetweenReleasesInSeconds: null,
  ...record,
});
