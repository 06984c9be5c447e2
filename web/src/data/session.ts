/** The settings of the service, and the key that the reader is signed in with. */
import { createContext, useContext } from "react";
import type { PageSettings, SessionAnswer } from "./answers.ts";

export type KeyKind = SessionAnswer["kind"];

/** The key lives in the memory of this page, and for this tab where its owner asked for that (`kept-session.ts`). */
export type Session = Pick<SessionAnswer, "kind" | "label"> & {
  readonly key: string;
  /** Whether the demo lent it, instead of a person who typed it in. */
  readonly lent: boolean;
  /** When this tab forgets the key, milliseconds; null for a key that a reload forgets, or that the demo lent. */
  readonly untilMs: number | null;
};

export type SessionControl = {
  readonly session: Session | null;
  /** Why there is none: the demo's link did not open, or its time is over; null without a reason to show. */
  readonly fault: Error | null;
  /**
   * @param options.stay keeps the key for this tab, for some hours
   * @throws AskError when the key is refused, or is of another interface
   */
  signIn(key: string, options?: { readonly stay?: boolean }): Promise<void>;
  /** Signs in with a key of the demo. @throws AskError where it lends none of this kind */
  lend(kind: KeyKind): Promise<void>;
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
