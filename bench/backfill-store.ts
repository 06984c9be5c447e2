/**
 * An object store of genuine checkpoints, numbered and linked anew, for `bench/backfill.ts`: a program of its own, so
 * that serving is not counted as work of the backfill. Prints its address, and ends when its input does.
 */
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { createZstdCompress } from "node:zlib";
import { readCertified } from "../src/ledger/proof/certificate.ts";
import { readBase58 } from "../src/values/base58.ts";
import { genuineCheckpoint, genuineFiles } from "../test/genuine.ts";
import { startObjectStore } from "../test/ledger/sources/object-store-server.ts";

const [count = "0", first = "0", answerMs = "0"] = process.argv.slice(2);

type Template = { readonly bytes: Buffer; readonly sequence: bigint; readonly previous: Buffer };

/** Those whose number takes as many bytes as the new ones. */
const templates = genuineFiles.flatMap((file): readonly Template[] => {
  const { protobuf } = genuineCheckpoint(file);
  const { header } = readCertified(protobuf);
  if (
    header.previousDigest === null ||
    bytesOf(header.sequence).length !== bytesOf(BigInt(first)).length
  )
    return [];
  const previous = Buffer.alloc(32);
  readBase58(header.previousDigest, previous, 0);
  return [{ bytes: Buffer.from(protobuf.bytes), sequence: header.sequence, previous }];
});

/** As a varint. */
function bytesOf(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)]);
    bytes.push(Number(left & 127n) | 128);
  }
}

const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};

/** Replaces one occurrence or more; none is an error. */
const put = (bytes: Buffer, before: Buffer, after: Buffer): void => {
  let at = bytes.indexOf(before);
  if (at < 0) throw new Error("a genuine checkpoint does not have what is replaced");
  for (; at >= 0; at = bytes.indexOf(before, at + before.length)) after.copy(bytes, at);
};

/** As the public archive's writer does: a frame without the content's size. */
const compress = async (bytes: Uint8Array): Promise<Buffer> => {
  const stream = createZstdCompress();
  const compressed = buffer(stream);
  if (!stream.write(bytes)) await once(stream, "drain");
  stream.end();
  return compressed;
};

let previous = Buffer.alloc(32);
const objects: Buffer[] = [];
for (let nth = 0; nth < Number(count); nth += 1) {
  const template = templates[nth % templates.length];
  if (template === undefined) throw new Error("no genuine checkpoint has such a number");
  const sequence = BigInt(first) + BigInt(nth);
  const bytes = Buffer.from(template.bytes);
  put(bytes, bytesOf(template.sequence), bytesOf(sequence));
  put(bytes, u64(template.sequence), u64(sequence));
  put(bytes, template.previous, previous);
  const { header } = readCertified({ sequence, encoding: "protobuf", bytes });
  previous = Buffer.alloc(32);
  readBase58(header.digest, previous, 0);
  objects.push(await compress(bytes));
}

const store = await startObjectStore({
  oldest: BigInt(first),
  newest: BigInt(first) + BigInt(objects.length) - 1n,
  object: (sequence) => objects[Number(sequence - BigInt(first))] ?? new Uint8Array(),
  answerMs: Number(answerMs),
});
const bytes = objects.reduce((sum, object) => sum + object.length, 0);
process.stdout.write(`${JSON.stringify({ url: store.base.href, bytes })}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
