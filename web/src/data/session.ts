/** Who is signed in: a key that lives in this page's memory and nowhere else. */
import { createContext, useContext } from "react";

/** What a key opens: the register, or requests and deliveries too. */
export type KeyKind = "graphql" | "operator";

export type Session = {
  readonly key: string;
  readonly kind: KeyKind;
  /** What the key is for, in its maker's words. */
  readonly label: string | null;
  /** Whether the demo ledger lent it: nobody typed it in. */
  readonly lent: boolean;
};

export type SessionControl = {
  readonly session: Session | null;
  /** @throws AskError when the key does not open, or is of another interface */
  signIn(key: string): Promise<void>;
  signOut(): void;
};

export const SessionContext = createContext<SessionControl | null>(null);

export const useSessionControl = (): SessionControl => {
  const control = useContext(SessionContext);
  if (control === null) throw new Error("used outside of the page");
  return control;
};

/** The session; pages are shown with one only. */
export const useSession = (): Session => {
  const { session } = useSessionControl();
  if (session === null) throw new Error("used without a key");
  return session;
};
