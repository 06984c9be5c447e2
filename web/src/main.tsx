/** Starts the page: settings first, then a session, then what the address names. */
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Failed, Loading } from "./blocks/blocks.tsx";
import { AskError, askPath } from "./data/ask.ts";
import { forgetLent, lentKey } from "./data/lent.ts";
import { isRefused, untilAnswered, worthRetrying } from "./data/queries.ts";
import { reading, text } from "./data/read.ts";
import { type KeyKind, type Session, SessionContext } from "./data/session.ts";
import { loadSettings, SettingsContext } from "./data/settings.ts";
import { router } from "./router.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { startTheme } from "./shell/theme.ts";
import "./styles.css";

const readSession = reading("session", (it) => ({
  kind: kindOf(it.at("kind").text()),
  label: it.at("label").maybe(text),
}));

/** @throws AskError for a key of an interface that this page does not show */
const kindOf = (kind: string): KeyKind => {
  if (kind === "graphql" || kind === "operator") return kind;
  throw new AskError({ message: `This is a ${kind} key; the page takes others.`, status: 403 });
};

const openSession = async (key: string, lent: boolean): Promise<Session> => ({
  key,
  lent,
  ...(await askPath("/session", readSession, { key })),
});

/** The demo's; null without a lent key, or when it opens nothing any more. */
const openLent = async (): Promise<Session | null> => {
  const key = await lentKey();
  if (key === null) return null;
  try {
    return await openSession(key, true);
  } catch (error) {
    if (!(error instanceof AskError && [401, 403].includes(error.status))) throw error;
    forgetLent();
    return null;
  }
};

const cache = new QueryClient({
  defaultOptions: {
    queries: {
      retry: worthRetrying,
      refetchInterval: untilAnswered,
      refetchOnWindowFocus: false,
      // The service may be on this machine, or in a network of its own: only asking it tells.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const Page = () => {
  const settings = useQuery({ queryKey: ["settings"], queryFn: loadSettings, staleTime: 60_000 });
  const [session, setSession] = useState<Session | null>(null);
  const [left, setLeft] = useState(false);
  const isDemo = settings.data !== undefined && settings.data.demo !== null;
  const opening = useQuery({
    queryKey: ["lent session"],
    queryFn: openLent,
    enabled: isDemo && session === null && !left,
  });
  useEffect(() => {
    if (opening.data !== undefined && !left) setSession(opening.data);
  }, [opening.data, left]);

  const signIn = useCallback(async (key: string) => {
    setSession(await openSession(key, false));
  }, []);
  const signOut = useCallback(() => {
    setLeft(true);
    forgetLent();
    setSession(null);
    // Nothing that a key opened outlives it.
    cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "settings" });
  }, []);
  const control = useMemo(() => ({ session, signIn, signOut }), [session, signIn, signOut]);

  // What was read once stays: nothing may take the views away, and the key with them.
  if (settings.data === undefined && settings.error !== null) {
    return (
      <main className="grid min-h-dvh place-items-center">
        <Failed error={settings.error} what="The service" onRetry={() => void settings.refetch()} />
      </main>
    );
  }
  if (settings.data === undefined || opening.isLoading) return <Loading />;
  if (session === null && !left && opening.error !== null && !isRefused(opening.error)) {
    return (
      <main className="grid min-h-dvh place-items-center">
        <Failed error={opening.error} what="The service" onRetry={() => void opening.refetch()} />
      </main>
    );
  }
  return (
    <SettingsContext value={settings.data}>
      <SessionContext value={control}>
        {session === null ? (
          <SignIn fault={left ? null : opening.error} />
        ) : (
          <RouterProvider router={router} />
        )}
      </SessionContext>
    </SettingsContext>
  );
};

startTheme();
const place = document.getElementById("page");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={cache}>
        <Page />
      </QueryClientProvider>
    </StrictMode>,
  );
}
