/** What operators do, each with the key of the page; what they changed is asked for anew. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { askPath } from "./ask.ts";
import { useSession } from "./session.ts";

/** Posts to a path. @throws AskError (as `error`) when it was refused */
export const useAct = <Value, Body extends object>(
  path: string,
  read: (body: unknown) => Value,
) => {
  const { key } = useSession();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (body: Body) => askPath(path, read, { key, body }),
    onSuccess: () =>
      cache.invalidateQueries({
        predicate: ({ queryKey: [kind, asked] }) =>
          kind === "path" && typeof asked === "string" && asked.startsWith("/operator/"),
      }),
  });
};
