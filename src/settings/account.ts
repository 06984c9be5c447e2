import { userInfo } from "node:os";

/** The user's name, or number without one; under `sudo` also the original user. */
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
