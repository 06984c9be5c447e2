/** A day of the figures that the service keeps of its lag and rate. */
import type { TestDatabase } from "../postgres.ts";

/** A point a minute for a day, with two hours in which no process indexed. */
export const haveStatusDay = ({ sql }: Pick<TestDatabase, "sql">) => sql`
  insert into status_history (at, next, lag_seconds)
  select date_trunc('minute', now()) - make_interval(mins => ago), 240 * (1440 - ago),
         jsonb_build_object('token_activity', 1 + ago % 7,
                            'role_changes', case when ago between 400 and 420 then 3600 else 2 end)
  from generate_series(2, 1439) as ago where ago not between 600 and 720
  on conflict (at) do nothing`;
