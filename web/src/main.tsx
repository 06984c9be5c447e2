/** Starts the page: first the settings, then a session, then the view that the address names. */
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Failed, Loading } from "./blocks/answered.tsx";
import type { PageSettings, SessionAnswer } from "./data/answers.ts";
import { AskError, askPath } from "./data/ask.ts";
import { forgetLent, lentKey } from "./data/lent.ts";
import { isRefused, untilAnswered, worthRetrying } from "./data/queries.ts";
import { type Session, SessionContext, SettingsContext } from "./data/session.ts";
import { router } from "./router.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { startTheme } from "./shell/theme.ts";
import "./styles.css";

/** @throws AskError for a refused key, or one of an interface that this page does not show */
const openSession = async (key: string, lent: boolean): Promise<Session> => {
  const { kind, label } = await askPath<SessionAnswer>("/session", { key });
  if (kind === "graphql" || kind === "operator") return { key, lent, kind, label };
  const message = `This is a ${kind} key; this page takes keys of kind graphql or operator.`;
  throw new AskError({ message, status: 403 });
};

/** The session of the demo's lent key; null without one, or when it was revoked. */
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
      // The browser's `online` says nothing about a service on this machine or in a local network.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const Page = () => {
  const settings = useQuery({
    queryKey: ["settings"],
    queryFn: () => askPath<PageSettings>("/page/settings"),
    staleTime: 60_000,
  });
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
    // No answer outlives the key that it was read with.
    cache.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "settings" });
  }, []);
  const control = useMemo(() => ({ session, signIn, signOut }), [session, signIn, signOut]);

  const failed = (query: { readonly error: Error; refetch(): unknown }) => (
    <main className="grid min-h-dvh place-items-center">
      <Failed error={query.error} what="The service" onRetry={() => void query.refetch()} />
    </main>
  );
  // Settings that were read stay while reading them again fails: otherwise the views, and the key, would be lost.
  if (settings.data === undefined) return settings.error === null ? <Loading /> : failed(settings);
  if (opening.isLoading) return <Loading />;
  if (session === null && !left && opening.error !== null && !isRefused(opening.error)) {
    return failed(opening);
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
