/** The operators' interface: lists of requests and deliveries, and acts on them. */
import type { Database, Db } from "../database/connect.ts";
import type { Key } from "../http/keys.ts";
import type { Part } from "../http/part.ts";
import type { Who } from "../http/route.ts";
import { KEY_HEADER } from "../http/who.ts";
import type { LabelKeys } from "../labels/read.ts";
import type { Assets } from "../settings/assets.ts";
import { actRoutes } from "./acts.ts";
import { assetRoutes, type ReloadAssets } from "./assets.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { labelRoutes } from "./labels.ts";
import { pauseRoutes } from "./pauses.ts";
import { receiverRoutes } from "./receivers.ts";
import { requestRoutes } from "./requests.ts";
import { searchRoutes } from "./search.ts";
import { summaryRoutes } from "./summary.ts";

type OperatorSettings = {
  readonly who: Who<Key>;
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly database: Database;
  /** Opens and seals labels. */
  readonly labelKeys: LabelKeys;
  readonly assets: () => Assets;
  readonly reloadAssets: ReloadAssets;
};

export const operatorPart = ({
  who,
  db,
  database,
  labelKeys,
  assets,
  reloadAssets,
}: OperatorSettings): Part => ({
  name: "operator",
  paths: [
    {
      path: "/operator/summary",
      about: `requests and deliveries, for operators: GET with a key in ${KEY_HEADER}`,
    },
  ],
  routes: [
    ...requestRoutes(db, who),
    ...deliveryRoutes(db, who),
    ...receiverRoutes(db, who),
    ...summaryRoutes(db, who),
    ...searchRoutes(db, who),
    ...actRoutes({ db, database, who }),
    ...labelRoutes({ db, database, who, labelKeys }),
    ...pauseRoutes({ db, database, assets, who }),
    ...assetRoutes({ reloadAssets, who }),
  ],
  described: {
    tag: {
      name: "Operators",
      description: `Requests and deliveries of all callers, without personal data. Only keys of the kind operator open it, in ${KEY_HEADER}.`,
    },
  },
});
