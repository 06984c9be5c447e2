/** Starts the page: first the settings, then a session, then the view that the address names. */
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Failed, Loading } from "./blocks/answered.tsx";
import type { PageSettings } from "./data/answers.ts";
import { askPath } from "./data/ask.ts";
import { untilAnswered, worthRetrying } from "./data/queries.ts";
import { SessionContext, SettingsContext } from "./data/session.ts";
import { useOpening } from "./data/session-control.ts";
import { router } from "./router.tsx";
import { startTheme } from "./shell/theme.ts";
import "./styles.css";

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
  const { control, isOpening, failure, retry } = useOpening(
    settings.data === undefined ? undefined : settings.data.demo !== null,
  );
  const failed = (error: Error, again: () => unknown) => (
    <main className="grid min-h-dvh place-items-center">
      <Failed error={error} what="The service" onRetry={() => void again()} />
    </main>
  );
  // Settings that were read stay while reading them again fails: otherwise the views, and the key, would be lost.
  if (settings.data === undefined) {
    return settings.error === null ? <Loading /> : failed(settings.error, settings.refetch);
  }
  if (isOpening) return <Loading />;
  if (failure !== null) return failed(failure, retry);
  return (
    <SettingsContext value={settings.data}>
      <SessionContext value={control}>
        <RouterProvider router={router} />
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
