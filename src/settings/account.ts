/** Who runs a command. */
import { userInfo } from "node:os";

/** The account of the operating system, by its number where it has no name; of `sudo` also who asked for it. */
export const account = (): string => {
  const asked = process.env.SUDO_USER;
  return asked === undefined || asked === "" ? own() : `${own()} (sudo: ${asked})`;
};

const own = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
};
