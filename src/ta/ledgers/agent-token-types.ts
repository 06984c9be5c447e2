/** EVM tokens with transfer groups, without which no wallet can be whitelisted. */
import type { EvmToken } from "../../settings/assets.ts";

export const AGENT_TOKEN_TYPES = [
  "comakery_security_token_v2",
  "comakery_security_token_v3",
  "comakery_security_token_v4",
] as const satisfies readonly EvmToken["type"][];

export type AgentTokenType = (typeof AGENT_TOKEN_TYPES)[number];
