/** The settings of the service, and the key that the reader is signed in with. */
import { createContext, useContext } from "react";
import type { PageSettings, SessionAnswer } from "./answers.ts";

export type KeyKind = SessionAnswer["kind"];

/** The key lives in the memory of this page and nowhere else. */
export type Session = Pick<SessionAnswer, "kind" | "label"> & {
  readonly key: string;
  /** Whether the demo lent it, instead of a person who typed it in. */
  readonly lent: boolean;
};

type SessionControl = {
  readonly session: Session | null;
  /** @throws AskError when the key is refused, or is of another interface */
  signIn(key: string): Promise<void>;
  signOut(): void;
};

export const SessionContext = createContext<SessionControl | null>(null);

export const useSessionControl = (): SessionControl => {
  const control = useContext(SessionContext);
  if (control === null) throw new Error("used outside of the page");
  return control;
};

/** The session; pages are only shown with one. */
export const useSession = (): Session => {
  const { session } = useSessionControl();
  if (session === null) throw new Error("used without a key");
  return session;
};

export const SettingsContext = createContext<PageSettings | null>(null);

export const useSettings = (): PageSettings => {
  const settings = useContext(SettingsContext);
  if (settings === null) throw new Error("used outside of the page");
  return settings;
};
