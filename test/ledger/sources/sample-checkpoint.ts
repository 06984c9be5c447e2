import { GrpcTypes } from "@mysten/sui/grpc";

/**
 * A `sui.rpc.v2.Checkpoint` that says which one it is and otherwise holds bytes of no meaning: sources
 * do not look inside. The same number and size give the same bytes.
 *
 * @param payload size of the bytes it carries
 */
export const sampleCheckpoint = (sequence: bigint, payload = 200): GrpcTypes.Checkpoint => ({
  sequenceNumber: sequence,
  digest: `digest-${sequence}`,
  contents: { bcs: { value: sampleBytes(sequence, payload) }, transactions: [] },
  transactions: [],
});

/** The same in wire bytes. */
export const sampleCheckpointBytes = (sequence: bigint, payload?: number): Uint8Array =>
  GrpcTypes.Checkpoint.toBinary(sampleCheckpoint(sequence, payload));

const sampleBytes = (sequence: bigint, length: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  let state = Number(sequence % 2_147_483_647n) + 1;
  for (let i = 0; i < length; i += 1) {
    // A Lehmer generator: bytes that do not compress to nothing.
    state = (state * 48_271) % 2_147_483_647;
    bytes[i] = state & 0xff;
  }
  return bytes;
};
