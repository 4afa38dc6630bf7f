import { z } from 'zod';
import { isHostPort, isNetwork } from '#stdlib/network';

/**
 * Whole number of at most nine digits. Accepts only digits, so that an empty variable does not mean
 * 0.
 */
export const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);

/** Port number; 0 chooses a free port. */
export const port = whole.pipe(z.number().max(65_535));

/** Address of a listener, `host:port`. */
export const address = z.string().refine(isHostPort, 'must be host:port');

/** Non-empty text. */
export const filled = z.string().min(1);

/** Boolean, as `true` or `false`. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Addresses and CIDRs, separated by commas. Empty by default. */
export const networks = z
  .string()
  .default('')
  .transform((text) => text.split(',').filter((cidr) => cidr !== ''))
  .refine((cidrs) => cidrs.every(isNetwork), 'must be addresses or CIDRs');

/** Host names in lower case, separated by commas. Empty by default. */
export const hostNames = z
  .string()
  .regex(/^[A-Za-z0-9._,-]*$/, 'must be host names')
  .default('')
  .transform((text) =>
    text
      .toLowerCase()
      .split(',')
      .filter((name) => name !== ''),
  );

/** List of at least one value, separated by commas. */
export function list(item: z.ZodType<string, string>) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item).min(1));
}

/**
 * Days of one plan. Plan names and maximum are copies from `accounts/plan`; a test compares them.
 */
const PLAN_DAYS = /^(free|indie|pro|enterprise)=([1-9]\d{0,4})$/;
const DAYS_MAX = 36_500;

type PlanDays = Partial<Record<'free' | 'indie' | 'pro' | 'enterprise', number>>;

/** Days by plan, as `free=30,pro=365`. A plan that is not listed has no value. */
export const retentionDays = z
  .string()
  .transform((text, context): PlanDays => {
    const found = text.split(',').map((part) => PLAN_DAYS.exec(part));
    const days = new Map(found.map((match) => [match?.[1] ?? '', Number(match?.[2])]));
    const isRight = [...days.values()].every((count) => count <= DAYS_MAX);
    if (isRight && days.size === found.length) return Object.fromEntries(days);
    context.addIssue(`must be plan=days, of 1 to ${DAYS_MAX} days, with commas between`);
    return z.NEVER;
  })
  .optional();

/** Whether a URL contains no user. The drivers ignore a user in the URL, and URLs are logged. */
export function isNameless(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.username === '' && parsed.password === '');
}

/** Whether a URL has no query or fragment, so that a path can be appended. */
function endsWithPath(url: string): boolean {
  return !/[?#]/.test(url);
}

/** URL of a collector for OTLP over HTTP. Undefined without a collector. */
export const collector = z
  .url({ protocol: /^https?$/, error: 'must be http://host:port or https://host:port' })
  .refine(isNameless, 'must not name a user')
  .refine(endsWithPath, 'must have no query and no fragment')
  .optional();

/** HTTP headers as `name=value`, separated by commas. A value contains no comma. */
export const headers = list(
  z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]+=[\t\x20-\x7e]+$/, 'must be name=value, with commas between'),
);

/** Price of a plan, by the provider's price id. */
const PLAN_PRICE = /^(indie|pro)=([\w-]{1,100})$/;

/**
 * Maximum number of prices for both plans together. A price must stay listed as long as a
 * subscription uses it.
 */
const PRICES_MAX = 100;

const WRONG_PRICES = `must be plan=price of indie and pro, with commas between, ${PRICES_MAX} at most and no price twice`;

const prices = z.string().transform((text, context) => {
  const found = text.split(',').map((part) => PLAN_PRICE.exec(part) ?? []);
  const read = found.map(([, plan = '', price = '']) => ({ plan: plan as 'indie' | 'pro', price }));
  const plans = new Set(read.map(({ plan }) => plan));
  const ids = new Set(read.map(({ price }) => price));
  if (plans.size === 2 && !ids.has('') && ids.size === read.length && ids.size <= PRICES_MAX) {
    return read;
  }
  context.addIssue(WRONG_PRICES);
  return z.NEVER;
});

/** Variables of billing, read by limiters and standalone processes. Source: decision 248. */
export const BILLING_VARIABLES = {
  SERVICE_BILLING_PROVIDER: z
    .enum(['none', 'local', 'stripe'])
    .default('none')
    .describe(
      'Payment provider (docs/billing.md). `local` takes no money and is for tests. With `none`, an operator sets plans.',
    ),
  SERVICE_BILLING_API_KEY: z
    .string()
    .regex(/^(?:sk|rk)_(?:test|live)_\w{3,250}$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .describe('Stripe API key of the service: `sk_…`, or better a restricted key `rk_…`.'),
  SERVICE_BILLING_API_KEY_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_API_KEY`, instead of that variable.'),
  SERVICE_BILLING_WEBHOOK_SECRET: list(z.string().min(16, 'must have at least 16 characters'))
    .refine((secrets) => secrets.length <= 2, 'must be one secret, or two separated by a comma')
    .optional()
    .describe(
      'Secret with which the provider signs notifications, `whsec_…`. For a rotation, give two secrets, separated by a comma or on two lines of the file.',
    ),
  SERVICE_BILLING_WEBHOOK_SECRET_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_WEBHOOK_SECRET`, instead of that variable.'),
  SERVICE_BILLING_PRICES: prices
    .optional()
    .describe(
      'Stripe prices by plan, such as `indie=price_1,pro=price_2`. Customers buy the first price of a plan. Further prices belong to older subscriptions.',
    ),
  SERVICE_BILLING_GRACE_DAYS: whole
    .pipe(z.number().max(90))
    .default(7)
    .describe('Grace period in days: time for which a plan stays after its first failed payment.'),
} as const;

/** Variables of the console, part of the configuration. */
export const CONSOLE_VARIABLES = {
  SERVICE_CONSOLE_ENABLED: flag
    .default(true)
    .describe(
      'Whether a standalone process serves the console. A console process ignores this variable.',
    ),
  SERVICE_CONSOLE_HOST: filled
    .default('127.0.0.1')
    .describe('Address on which the console listens.'),
  SERVICE_CONSOLE_PORT: port.default(8_002).describe('Port of the console; 0 picks a free port.'),
  SERVICE_CONSOLE_ORIGIN: z
    .url({ protocol: /^https?$/, error: 'must be https://host or http://host' })
    .refine(
      (url) => URL.parse(url)?.origin === url,
      'must be lower case, and have no path or slash',
    )
    .optional()
    .describe(
      'Public address of the console in links, such as https://console.example.com. With https, browsers send cookies only over TLS. Unset: the console serves only loopback, over HTTP.',
    ),
  SERVICE_API_URL: z
    .url({ protocol: /^https?$/, error: 'must be https://host/v1 or http://host/v1' })
    .refine(isNameless, 'must not name a user')
    .refine((url) => url.endsWith('/v1') && endsWithPath(url), 'must end in /v1')
    .optional()
    .describe(
      'Base URL of the API in the examples of the console, such as https://api.example.com/v1. Unset: a standalone process with a console on loopback shows its own listener. Other consoles show a placeholder.',
    ),
} as const;

const protocol = z
  .enum(['http/protobuf'], 'must be http/protobuf: no other protocol is supported')
  .default('http/protobuf')
  .describe('Protocol of the collector; only `http/protobuf` is supported.');

/**
 * OpenTelemetry's variables that this service reads itself. The SDK reads further variables:
 * headers, certificates, service name, resource attributes. A blank value is treated as unset.
 * Source: OpenTelemetry, environment variable specification.
 */
export const OTEL_VARIABLES = {
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .transform((text) => text.toLowerCase() === 'true')
    .describe('`true` turns tracing off and overrides the other variables.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.describe(
    'Same as `SERVICE_OTLP_ENDPOINT`, which takes precedence.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.describe(
    'Address of the collector with its full path. Overrides `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'])
    .default('otlp')
    .describe('`none` turns tracing off.'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .optional()
    .describe(
      'Sampler, instead of `SERVICE_TRACE_RATIO`. `parentbased_…` samplers follow the trace context of the caller; the others ignore it.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number('must be a number from 0 to 1')
    .min(0, 'must be a number from 0 to 1')
    .max(1, 'must be a number from 0 to 1')
    .default(1)
    .describe('Share of the traces that `traceidratio` and `parentbased_traceidratio` record.'),
  OTEL_PROPAGATORS: z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(['tracecontext', 'baggage', 'b3', 'b3multi', 'none'])))
    .optional()
    .describe(
      'Formats of trace context that callers send: `tracecontext`, `b3`, `b3multi`, separated by commas, or `none`. `baggage` is ignored. Default: `tracecontext`.',
    ),
} as const;

/** Variables with a collector's URL, in order of precedence. */
export const COLLECTORS = [
  'SERVICE_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Environment without OpenTelemetry variables that have no effect here: blank variables, and all
 * variables if no collector is configured. A platform may set the variables for other programs.
 */
export function meantVariables(environment: Variables): Variables {
  const isOn = namesCollector(environment);
  const meant = Object.entries(environment).filter(
    ([name, value = '']) => !name.startsWith('OTEL_') || (isOn && value.trim() !== ''),
  );
  return Object.fromEntries(meant);
}

/** Whether a collector is configured. */
export function namesCollector(environment: Variables): boolean {
  return COLLECTORS.some((name) => (environment[name] ?? '').trim() !== '');
}

/**
 * Secret variables, each with the maximum number of lines in its file. The secret may be in a file
 * instead, and each line in the file is a list item (decisions 134 and 230).
 */
export const SECRET_LINES_MAX = {
  SERVICE_CASSANDRA_PASSWORD: 1,
  SERVICE_NATS_PASSWORD: 1,
  SERVICE_CLUSTER_SECRET: 2,
  SERVICE_OTLP_HEADERS: 1,
  SERVICE_BILLING_API_KEY: 1,
  SERVICE_BILLING_WEBHOOK_SECRET: 2,
} as const;

/** Name of a secret variable. */
export type SecretVariable = keyof typeof SECRET_LINES_MAX;
