/** Opening, keeping and ending the session of this page. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { SessionAnswer } from "./answers.ts";
import { AskError, askPath } from "./ask.ts";
import { forgetSession, keepSession, keptSession, STAY_HOURS } from "./kept-session.ts";
import { firstLentKey, forgetLent, lentKeyOf } from "./lent.ts";
import { isRefused } from "./queries.ts";
import { forgetRecent } from "./recent.ts";
import type { KeyKind, Session, SessionControl } from "./session.ts";

/** @throws AskError for a refused key, or one of an interface that this page does not show */
const openSession = async (
  key: string,
  about: Pick<Session, "lent" | "untilMs">,
): Promise<Session> => {
  const { kind, label } = await askPath<SessionAnswer>("/session", { key });
  if (kind === "graphql" || kind === "operator") return { key, kind, label, ...about };
  const message = `This is a ${kind} key; this page takes keys of kind graphql or operator.`;
  throw new AskError({ message, status: 403 });
};

/** The session of a key that was kept; null for one that the service refuses, which is then forgotten. */
const openKept = async (
  key: string,
  about: Pick<Session, "lent" | "untilMs">,
  forget: () => unknown,
): Promise<Session | null> => {
  try {
    return await openSession(key, about);
  } catch (error) {
    if (!(error instanceof AskError && [401, 403].includes(error.status))) throw error;
    forget();
    return null;
  }
};

/** The session that the page opens with: of the key that this tab keeps, else of the demo's; null without both. */
const openFirst = async (isDemo: boolean): Promise<Session | null> => {
  const stayed = keptSession();
  if (stayed !== null) {
    const about = { lent: false, untilMs: stayed.untilMs };
    const session = await openKept(stayed.key, about, forgetSession);
    if (session !== null) return session;
  }
  const lent = isDemo ? await firstLentKey() : null;
  return lent === null ? null : openKept(lent, { lent: true, untilMs: null }, forgetLent);
};

type Opening = {
  readonly control: SessionControl;
  /** Whether the first session is being opened. */
  readonly isOpening: boolean;
  /** Why it could not be opened, where trying again helps. */
  readonly failure: Error | null;
  retry(): void;
};

/** @param isDemo undefined until the settings are known */
export const useOpening = (isDemo: boolean | undefined): Opening => {
  const cache = useQueryClient();
  const [session, setSession] = useState<Session | null>(null);
  const [left, setLeft] = useState(false);
  const [ended, setEnded] = useState<Error | null>(null);
  const first = useQuery({
    queryKey: ["first session"],
    queryFn: () => openFirst(isDemo === true),
    enabled: isDemo !== undefined && session === null && !left,
  });
  useEffect(() => {
    if (first.data !== undefined && !left) setSession(first.data);
  }, [first.data, left]);

  const signIn = useCallback(
    async (key: string, { stay = false }: { readonly stay?: boolean } = {}) => {
      const opened = await openSession(key, { lent: false, untilMs: null });
      forgetSession();
      setEnded(null);
      setSession(stay ? { ...opened, untilMs: keepSession(key) } : opened);
    },
    [],
  );
  const end = useCallback(
    (why: Error | null) => {
      setLeft(true);
      setEnded(why);
      forgetLent();
      forgetSession();
      forgetRecent();
      setSession(null);
      // No answer outlives the key that it was read with.
      cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "settings" });
    },
    [cache],
  );
  const signOut = useCallback(() => end(null), [end]);
  const lend = useCallback(
    async (kind: KeyKind) => {
      const key = await lentKeyOf(kind);
      if (key === null) return;
      const opened = await openSession(key, { lent: true, untilMs: null });
      forgetSession();
      setSession(opened);
      await cache.invalidateQueries();
    },
    [cache],
  );
  useEndAt(session?.untilMs ?? null, end);

  const fault = ended ?? (left ? null : first.error);
  const control = useMemo(
    () => ({ session, fault, signIn, lend, signOut }),
    [session, fault, signIn, lend, signOut],
  );
  const failed = session === null && !left && first.error !== null && !isRefused(first.error);
  return {
    control,
    isOpening: first.isLoading,
    failure: failed ? first.error : null,
    retry: () => void first.refetch(),
  };
};

/** Ends a session at its time, also where this machine slept over it. */
const useEndAt = (untilMs: number | null, end: (why: Error) => void) => {
  useEffect(() => {
    if (untilMs === null) return;
    const check = () => {
      if (Date.now() < untilMs) return;
      end(new Error(`Your ${STAY_HOURS} hours are over. Sign in again to go on.`));
    };
    const timer = setTimeout(check, Math.max(0, untilMs - Date.now()));
    document.addEventListener("visibilitychange", check);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", check);
    };
  }, [untilMs, end]);
};
