/** What the service's JSON paths answer, by the service's own schemas. */
import type { z } from "zod";
import type * as operator from "../../../src/operator/answers.ts";
import type * as page from "../../../src/page-api/answers.ts";

export type PageSettings = z.infer<typeof page.pageSettingsAnswer>;
export type Explorer = NonNullable<PageSettings["explorer"]>;
export type SessionAnswer = z.infer<typeof page.sessionAnswer>;
export type LentSession = z.infer<typeof page.lentSessionAnswer>;

export type Requests = z.infer<typeof operator.operatorRequestsAnswer>;
export type TaRequest = z.infer<typeof operator.operatorRequestAnswer>;
export type Deliveries = z.infer<typeof operator.operatorDeliveriesAnswer>;
export type Delivery = z.infer<typeof operator.operatorDeliveryAnswer>;
export type Attempt = Delivery["attempts"][number];
export type Receivers = z.infer<typeof operator.operatorReceiversAnswer>;
export type Receiver = Receivers["items"][number];
export type Summary = z.infer<typeof operator.operatorSummaryAnswer>;
export type OperatorSearch = z.infer<typeof operator.operatorSearchAnswer>;
export type Redelivery = z.infer<typeof operator.redeliveryAnswer>;
export type RangeRedelivery = z.infer<typeof operator.rangeRedeliveryAnswer>;
export type TestEvent = z.infer<typeof operator.testEventAnswer>;

export type RequestFigures = z.infer<typeof operator.operatorFiguresAnswer>;
export type Pauses = z.infer<typeof operator.pausesAnswer>;
export type Pause = Pauses["pauses"][number];
export type StatusHistory = z.infer<typeof page.statusHistoryAnswer>;

export type CheckpointProof = z.infer<typeof page.proofAnswer>;
export type Certificate = NonNullable<CheckpointProof["certificate"]>;
export type Validator = NonNullable<CheckpointProof["committee"]>["members"][number];
export type Roots = z.infer<typeof page.rootsAnswer>;
export type LogHeads = z.infer<typeof page.logHeadsAnswer>;
export type DeploymentKeys = z.infer<typeof page.deploymentKeysAnswer>;

export type TourBegun = z.infer<typeof page.tourBegunAnswer>;
export type Tour = z.infer<typeof page.tourAnswer>;
