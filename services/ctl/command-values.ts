import type { ArgSpec, OptionSpec } from '#ctl/command';

/* Arguments and options that several commands take. */

/** Argument of commands about one account. */
export const ACCOUNT: ArgSpec = { name: 'account', about: 'id of the account' };

/** Argument of commands about one API key. */
export const KEY_ID: ArgSpec = {
  name: 'key id',
  about: 'id of the key, as `ctl keys list` shows it',
};

/** Argument of commands about one instance. */
export const INSTANCE_ID: ArgSpec = { name: 'instance', about: 'id of the instance' };

/** For commands that ask before they lose data. */
export const YES: OptionSpec = { about: 'do it without a question' };

/** For commands that look at every service without it. */
export const SERVICE_OPTION = {
  service: { value: 'kind', about: 'only nodes of this kind', choices: ['engine', 'limiter'] },
} as const satisfies Record<string, OptionSpec>;

/** A whole number from 1 to `max`. */
export function wholeUpTo(max: number) {
  return (text: string): string | undefined =>
    /^\d{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= max
      ? undefined
      : `must be a whole number from 1 to ${max}`;
}
