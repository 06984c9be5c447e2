/** `0x` lower-case hex text and bytes. */
import type { Hex } from "viem";

export const bytesOf = (hex: Hex): Buffer => Buffer.from(hex.slice(2), "hex");

/** A text that is known to begin with `0x`. */
export const hexText = (text: string): Hex => `0x${text.slice(2)}`;

export const hexOf = (bytes: Uint8Array): Hex =>
  `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`;
