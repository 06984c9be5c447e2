import { GrpcTypes } from "@mysten/sui/grpc";
import { MessageType, ScalarType } from "@protobuf-ts/runtime";
import type { MethodInfo, ServiceInfo } from "@protobuf-ts/runtime-rpc";
import { CERTIFICATE_READ_MASK, CHECKPOINT_READ_MASK } from "../decode/protobuf.ts";

/**
 * Calls that return checkpoints as bytes.
 *
 * On the wire a message and a `bytes` field are equal. Declaring `bytes` returns the
 * `sui.rpc.v2.Checkpoint` as sent; the generated types would decode megabytes only for them to be
 * encoded again.
 */

/** `sui.rpc.v2.GetCheckpointResponse`. */
type CheckpointAnswer = { checkpoint?: Uint8Array };

/** `sui.rpc.v2.SubscribeCheckpointsResponse`. */
export type StreamedCheckpoint = {
  /** Number of the checkpoint; all earlier ones are covered. */
  cursor?: bigint;
  checkpoint?: Uint8Array;
};

const CheckpointAnswer = new MessageType<CheckpointAnswer>("sui.rpc.v2.GetCheckpointResponse", [
  { no: 1, name: "checkpoint", kind: "scalar", opt: true, T: ScalarType.BYTES },
]);

const StreamedCheckpoint = new MessageType<StreamedCheckpoint>(
  "sui.rpc.v2.SubscribeCheckpointsResponse",
  [
    { no: 1, name: "cursor", kind: "scalar", opt: true, T: ScalarType.UINT64, L: 0 },
    { no: 2, name: "checkpoint", kind: "scalar", opt: true, T: ScalarType.BYTES },
  ],
);

const methodOf = (service: ServiceInfo, name: string): MethodInfo => {
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined) throw new Error(`${service.typeName} has no method ${name}`);
  return method;
};

export const getCheckpoint: MethodInfo<GrpcTypes.GetCheckpointRequest, CheckpointAnswer> = {
  ...methodOf(GrpcTypes.LedgerService, "GetCheckpoint"),
  I: GrpcTypes.GetCheckpointRequest,
  O: CheckpointAnswer,
};

export const subscribeCheckpoints: MethodInfo<
  GrpcTypes.SubscribeCheckpointsRequest,
  StreamedCheckpoint
> = {
  ...methodOf(GrpcTypes.SubscriptionService, "SubscribeCheckpoints"),
  I: GrpcTypes.SubscribeCheckpointsRequest,
  O: StreamedCheckpoint,
};

/** What the decoder reads, with signatures if they are verified. */
export const readMaskOf = (certificates: boolean) => ({
  paths: [...CHECKPOINT_READ_MASK, ...(certificates ? [CERTIFICATE_READ_MASK] : [])],
});

/** `google.rpc.Status` in `grpc-status-details-bin`. */
type StatusDetails = { details: { typeUrl: string; value: Uint8Array }[] };

const AnyMessage = new MessageType<StatusDetails["details"][number]>("google.protobuf.Any", [
  { no: 1, name: "type_url", kind: "scalar", T: ScalarType.STRING },
  { no: 2, name: "value", kind: "scalar", T: ScalarType.BYTES },
]);

const StatusDetails = new MessageType<StatusDetails>("google.rpc.Status", [
  { no: 3, name: "details", kind: "message", repeat: 2, T: () => AnyMessage },
]);

const Duration = new MessageType<{ seconds: bigint; nanos: number }>("google.protobuf.Duration", [
  { no: 1, name: "seconds", kind: "scalar", T: ScalarType.INT64, L: 0 },
  { no: 2, name: "nanos", kind: "scalar", T: ScalarType.INT32 },
]);

const RetryInfo = new MessageType<{ retryDelay?: { seconds: bigint; nanos: number } }>(
  "google.rpc.RetryInfo",
  [{ no: 1, name: "retry_delay", kind: "message", T: () => Duration }],
);

/**
 * Pause in ms that a node requests (`google.rpc.RetryInfo`); null without one.
 *
 * @param details value of `grpc-status-details-bin`, base64
 */
export const retryDelayMs = (details: string): number | null => {
  try {
    const status = StatusDetails.fromBinary(Buffer.from(details, "base64"));
    const info = status.details.find(({ typeUrl }) => typeUrl.endsWith("/google.rpc.RetryInfo"));
    const delay = info && RetryInfo.fromBinary(info.value).retryDelay;
    return delay === undefined ? null : Number(delay.seconds) * 1000 + delay.nanos / 1e6;
  } catch {
    // Details are optional.
    return null;
  }
};
