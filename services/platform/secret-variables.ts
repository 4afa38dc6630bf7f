/**
 * The variables that are secrets, each of which may be the content of a file instead, and of how many
 * lines: a line of the file is a part of a list (decisions 134 and 230).
 */
export const SECRET_LINES_MAX = {
  SERVICE_CASSANDRA_PASSWORD: 1,
  SERVICE_NATS_PASSWORD: 1,
  SERVICE_CLUSTER_SECRET: 2,
  SERVICE_OTLP_HEADERS: 1,
  SERVICE_BILLING_API_KEY: 1,
  SERVICE_BILLING_WEBHOOK_SECRET: 2,
} as const;

/** A variable that is a secret. */
export type SecretVariable = keyof typeof SECRET_LINES_MAX;
