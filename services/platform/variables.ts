import { z } from 'zod';
import type { Clock } from '#platform/clock';
import { isHostPort, isNetwork } from '#platform/network';
import type { Tracer } from '#platform/tracer';

/** A whole number of at most nine digits. Digits only: an empty variable must not mean 0. */
export const whole = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number);

/** A port; 0 takes a free one. */
export const port = whole.pipe(z.number().max(65_535));

/** Where something listens. */
export const address = z.string().refine(isHostPort, 'must be host:port');

/** A text that is not empty. */
export const filled = z.string().min(1);

/** Yes or no, in the words of YAML and shells. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** Addresses and CIDRs, separated by commas; none if left out. */
export const networks = z
  .string()
  .default('')
  .transform((text) => text.split(',').filter((cidr) => cidr !== ''))
  .refine((cidrs) => cidrs.every(isNetwork), 'must be addresses or CIDRs');

/** Host names in lower case, separated by commas; none if left out. */
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

/** Several values, separated by commas; one at least. */
export function list(item: z.ZodType<string, string>) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(item).min(1));
}

/** One plan's days; plans and the most days are those of `accounts/plan`, a test compares. */
const PLAN_DAYS = /^(free|indie|pro|enterprise)=([1-9]\d{0,4})$/;
const DAYS_MAX = 36_500;

type PlanDays = Partial<Record<'free' | 'indie' | 'pro' | 'enterprise', number>>;

/** Days by plan, as `free=30,pro=365`; a plan that is left out has none. */
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

/** Whether a URL names no user: the drivers read none out of one, and URLs are logged. */
export function isNameless(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.username === '' && parsed.password === '');
}

/** Whether a URL ends with its path, so that a path can be added to it. */
function endsWithPath(url: string): boolean {
  return !/[?#]/.test(url);
}

/** Where a collector takes OTLP over HTTP; undefined: nowhere. */
export const collector = z
  .url({ protocol: /^https?$/, error: 'must be http://host:port or https://host:port' })
  .refine(isNameless, 'must not name a user')
  .refine(endsWithPath, 'must have no query and no fragment')
  .optional();

/** Headers of HTTP as `name=value`; a value has no commas. */
export const headers = list(
  z
    .string()
    .regex(/^[\w!#$%&'*+.^`|~-]+=[\t\x20-\x7e]+$/, 'must be name=value, with commas between'),
);

/** One price of a plan, by its id at the provider. */
const PLAN_PRICE = /^(indie|pro)=([\w-]{1,100})$/;

/** Prices of both plans: each sold once, and remembered for as long as a subscription has it. Chosen. */
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

/** The variables of billing, which limiters and standalone processes read. Source: decision 248. */
export const BILLING_VARIABLES = {
  SERVICE_BILLING_PROVIDER: z
    .enum(['none', 'local', 'stripe'])
    .default('none')
    .describe(
      'Who plans are bought from (docs/billing.md). `local` takes no money and is for tests; `none`: an operator sets plans.',
    ),
  SERVICE_BILLING_API_KEY: z
    .string()
    .regex(/^(?:sk|rk)_(?:test|live)_\w{3,250}$/, 'must be a secret or restricted key of Stripe')
    .optional()
    .describe("The service's key at Stripe: `sk_…`, or better `rk_…` that may do what it needs."),
  SERVICE_BILLING_API_KEY_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_API_KEY`, instead of that variable.'),
  SERVICE_BILLING_WEBHOOK_SECRET: list(z.string().min(16, 'must have at least 16 characters'))
    .refine((secrets) => secrets.length <= 2, 'must be one secret, or two with a comma between')
    .optional()
    .describe(
      'What the provider signs notifications with, `whsec_…`; two with a comma between while it is changed, or on two lines of its file.',
    ),
  SERVICE_BILLING_WEBHOOK_SECRET_FILE: filled
    .optional()
    .describe('File that holds `SERVICE_BILLING_WEBHOOK_SECRET`, instead of that variable.'),
  SERVICE_BILLING_PRICES: prices
    .optional()
    .describe(
      'Prices at Stripe by plan, as `indie=price_1,pro=price_2`. The first of a plan is sold; further ones are those that older subscriptions still have.',
    ),
  SERVICE_BILLING_GRACE_DAYS: whole
    .pipe(z.number().max(90))
    .default(7)
    .describe('Days that a plan stays when its payment fails, from the first failure on.'),
} as const;

/** The variables of the console, a part of those of `config`. */
export const CONSOLE_VARIABLES = {
  SERVICE_CONSOLE_ENABLED: flag
    .default(true)
    .describe('Whether a standalone process opens the console; a process of its own always does.'),
  SERVICE_CONSOLE_HOST: filled.default('127.0.0.1').describe('Address the console listens on.'),
  SERVICE_CONSOLE_PORT: port.default(8_002).describe('Port of the console; 0 takes a free one.'),
  SERVICE_CONSOLE_ORIGIN: z
    .url({ protocol: /^https?$/, error: 'must be https://host or http://host' })
    .refine(
      (url) => URL.parse(url)?.origin === url,
      'must be lower case, and have no path or slash',
    )
    .optional()
    .describe(
      'Where browsers reach the console, as https://console.example.com; links lead there, and with https its cookies are for TLS alone. Left out: on loopback, over HTTP.',
    ),
} as const;

const protocol = z
  .enum(['http/protobuf'], 'must be http/protobuf: the service speaks no other')
  .default('http/protobuf')
  .describe('How the collector is spoken to; `http/protobuf` alone is known.');

/**
 * Variables of OpenTelemetry that this service reads itself. The SDK reads further ones: headers,
 * certificates, the name of the service, attributes of the resource. A blank value is none. Source:
 * OpenTelemetry, environment variable specification.
 */
export const OTEL_VARIABLES = {
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .transform((text) => text.toLowerCase() === 'true')
    .describe('`true`: nothing is traced, whatever the other variables say.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.describe(
    'Like `SERVICE_OTLP_ENDPOINT`, which is stronger.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.describe(
    'Where a collector takes traces, the whole path included. Stronger than `OTEL_EXPORTER_OTLP_ENDPOINT`.',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'])
    .default('otlp')
    .describe('`none`: nothing is traced.'),
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
      'Which requests are traced, instead of `SERVICE_TRACE_RATIO`. `parentbased_…` follows callers who send a context; the others do not.',
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
      'Headers in which callers name their traces: `tracecontext`, `b3`, `b3multi`, several with commas between, or `none`. `baggage` is read and not used. Left out: `tracecontext`.',
    ),
} as const;

/** Variables that name a collector, the strongest first. */
export const COLLECTORS = [
  'SERVICE_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment without those variables of OpenTelemetry that mean nothing here: blank ones, and all
 * where no collector is named. A platform sets them for other programs too.
 */
export function meantVariables(environment: Variables): Variables {
  const isOn = namesCollector(environment);
  const meant = Object.entries(environment).filter(
    ([name, value = '']) => !name.startsWith('OTEL_') || (isOn && value.trim() !== ''),
  );
  return Object.fromEntries(meant);
}

/** Whether spans go somewhere. */
export function namesCollector(environment: Variables): boolean {
  return COLLECTORS.some((name) => (environment[name] ?? '').trim() !== '');
}

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

/** What every component needs of its process. */
export type ProcessPorts = {
  readonly clock: Clock;
  /** Called with what is no Fault: a bug, for the process's log, and the span in which it arose. */
  readonly onBug: (error: unknown, traceparent?: string) => void;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
};
