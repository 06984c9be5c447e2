/** The framework's `package::UpgradeCap`: the right to upgrade a package. */
import { FRAMEWORK } from "../../values/move-type.ts";

export const UPGRADE_CAP = `${FRAMEWORK}::package::UpgradeCap`;

/** `UpgradeCap`: its id, the package's newest version, the number of that version, the policy. */
const [PACKAGE_AT, NUMBER_AT] = [32, 64];

/** Address of the newest version of the package. */
export const packageOfCap = (contents: Uint8Array): string =>
  `0x${Buffer.from(contents.subarray(PACKAGE_AT, NUMBER_AT)).toString("hex")}`;

/** Number of that version, from 1. */
export const versionOfCap = ({ buffer, byteOffset }: Uint8Array): bigint =>
  Buffer.from(buffer, byteOffset).readBigUInt64LE(NUMBER_AT);
