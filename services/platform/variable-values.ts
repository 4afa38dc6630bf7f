import { z } from 'zod';
import { isHostPort, isNetwork } from '#platform/host-port';

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

/** One plan's days; plans and the most days are those of `accounts/retention`, a test compares. */
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
