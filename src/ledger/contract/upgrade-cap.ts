/** The framework's `package::UpgradeCap`: the right to upgrade a package. */
import { FRAMEWORK } from "../../values/move-type.ts";
import type { TypeHead } from "../decode/type-tag.ts";

const [MODULE, NAME] = ["package", "UpgradeCap"];
export const UPGRADE_CAP = `${FRAMEWORK}::${MODULE}::${NAME}`;

/** Without making a text of each type that is read. */
export const isUpgradeCap = ({ address, module, name }: TypeHead): boolean =>
  name === NAME && module === MODULE && address === FRAMEWORK;

/** `UpgradeCap`: its id, the package's newest version, the number of that version, the policy. */
const [PACKAGE_AT, NUMBER_AT] = [32, 64];

/** Address of the newest version of the package. */
export const packageOfCap = (contents: Uint8Array): string =>
  `0x${Buffer.from(contents.subarray(PACKAGE_AT, NUMBER_AT)).toString("hex")}`;

/** Number of that version, from 1. */
export const versionOfCap = ({ buffer, byteOffset }: Uint8Array): bigint =>
  Buffer.from(buffer, byteOffset).readBigUInt64LE(NUMBER_AT);
